package syntax

import (
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/parser"
	"cuelang.org/go/cue/token"
	"github.com/google/go-cmp/cmp"
)

// TestWalk checks that a node gets the state of the nodes around it and not that of
// its siblings, and that skipped nodes are not visited.
func TestWalk(t *testing.T) {
	f, err := parser.ParseFile("x.cue", `a: {b: 1, skip: {c: 2}, d: [3, {e: 4}]}, f: 5`)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	Walk(ast.Node(f), []string{}, func(n ast.Node, path []string) ([]string, bool) {
		switch x := n.(type) {
		case *ast.Field:
			name, _ := StaticName(x.Label)
			return append(slices.Clone(path), name), name != "skip"
		case *ast.BasicLit:
			found = append(found, strings.Join(path, ".")+"="+x.Value)
		}
		return path, true
	})
	if diff := cmp.Diff([]string{"a.b=1", "a.d=3", "a.d.e=4", "f=5"}, found); diff != "" {
		t.Error(diff)
	}
}

func TestOperands(t *testing.T) {
	for expr, want := range map[string][]string{
		"a & (b & c)":   {"a", "b", "c"},
		"a & (b | c)":   {"a", "b | c"},
		"(a)":           {"a"},
		"a | b":         {"a | b"},
		"*(a & b) & c":  {"*(a & b)", "c"},
		"{a: b & c}":    {"{a: b & c}"},
		"((a & b)) & c": {"a", "b", "c"},
	} {
		e, err := parser.ParseExpr("x", expr)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range Operands(e, token.AND) {
			got = append(got, Text(o))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", expr, diff)
		}
	}
}
