package render

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/internal/problem"
)

// TestFindRecursion searches schemas for forms on which CUE v0.17.1 recurses
// without end. CUE did so on every schema with a position here; see
// recursion.txtar of the command line.
func TestFindRecursion(t *testing.T) {
	const bound, itself = "where a bound meets a struct whose fields hang on a condition", "where a bound names the value that it stands in"
	at := func(line, column int, form string) *recursion {
		return &recursion{problem.Position{File: "m.cue", Line: line, Column: column}, form}
	}
	for source, want := range map[string]*recursion{
		"a?: {x!: 1, if x == 1 {w: int}} & <5":                     at(3, 35, bound),
		"x: int\na: >=5 & {if x == 1 {w: int}}":                    at(4, 4, bound),
		"x: int\na: {for i in [1] if x == i {w: int}}\na: <5":      at(5, 4, bound),
		"x: int\na: {[string]: int, if x == 1 {w: 1}} & <5":        at(4, 40, bound),
		"b: {x!: 1, if x == 1 {w: int}}\nc!: b | 5\nc?: int & <5":  at(5, 11, bound),
		"#b: {x?: 1, if x == 1 {w: int}}\nc?: *(#b) | int\nc?: <5": at(5, 5, bound),
		"a: x: int & !=a":                          at(3, 13, itself),
		"a?: [...{m?: int & !=(a)}]":               at(3, 20, itself),
		"a: [string]: m: int & >=a":                at(3, 23, itself),
		"a: {x: int, if x == 1 {w: int}} & <5":     nil,
		"a: {x!: 1, if x == 1 {w: int}} & =~\"a\"": nil,
		"a: {x!: int} & <5":                        nil,
		"a: {x: int, y: <x}":                       nil,
		"a: {x: int, y: <a.x}":                     nil,
		"a: x: int\nb: y: <a":                      nil,
		"a: <5\nb: {x!: 1, if x == 1 {w: int}}":    nil,
	} {
		files := Source{FS: fstest.MapFS{"m.cue": {Data: []byte("package m\n\n" + source + "\n")}}}.Files()
		var got *recursion
		if found, ok := findRecursion(files); ok {
			found.pos.File = "m.cue"
			got = &found
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(recursion{})); diff != "" {
			t.Errorf("%s\n(-want +got)\n%s", source, diff)
		}
	}
}

// TestFindRecursionEnds checks that the search ends on syntax that grows when followed.
func TestFindRecursionEnds(t *testing.T) {
	var doubling strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubling, "a%d: a%d & a%d\n", i, i+1, i+1)
	}
	for name, source := range map[string]string{
		"doubling": doubling.String(),
		"itself":   "a: b & c\nb: a & c\nc: a | b\n",
		"nested":   "a: " + strings.Repeat("{a: ", 5000) + "1" + strings.Repeat("}", 5000),
		"chained":  "a: " + strings.Repeat("1 & ", 50000) + "1",
		"long":     "a: " + strings.Repeat("1 & ", 100000) + "1",
	} {
		files := Source{FS: fstest.MapFS{"m.cue": {Data: []byte("package m\n" + source + "\n")}}}.Files()
		if (len(files) == 0) != (name == "long") {
			t.Errorf("%s: %d files", name, len(files))
		}
		if found, ok := findRecursion(files); ok {
			t.Errorf("%s: %v", name, found)
		}
	}
}
