package yamlfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	for name, tt := range map[string]struct {
		was, is string
		want    []string
	}{
		"equal in another style": {"a: {b: [1, x]}\n", "a:\n  b:\n  - 1\n  - 'x'\n", nil},
		"value":                  {"a: 1\nb: {c: v}\n", "# moved\na: 1\nb: {c: w}\n", []string{"b.c 2:5 3:5"}},
		"another type":           {"a: 1\n", "a: '1'\n", []string{"a 1:1 1:1"}},
		"added mapping":          {"a: 1\n", "a: 1\nb:\n  c: 1\n  d: 2\n", []string{"b - 2:1"}},
		"removed before changed": {"a: 1\nb: 2\n", "b: 3\n", []string{"b 2:1 1:1", "a 1:1 -"}},
		"inserted item":          {"l:\n- u\n- v\n", "l:\n- u\n- w\n- v\n", []string{"l[1] - 3:3"}},
		"field of an item":       {"l:\n- name: x\n  v: 1\n- name: w\n", "l:\n- name: x\n  v: 2\n- name: w\n", []string{"l[0].v 3:3 3:3"}},
		"key with a dot":         {"a: {b.c/d: 1}\n", "a: {b.c/d: 2}\n", []string{`a["b.c/d"] 1:5 1:5`}},
		"mapping to scalar":      {"a: {b: 1}\n", "a: 1\n", []string{"a 1:1 1:1"}},
		"alias":                  {"x: &x {v: 1}\nz: *x\n", "x: &x {v: 2}\nz: *x\n", []string{"x.v 1:8 1:8", "z.v 1:8 1:8"}},
		"merge key":              {"x: &x {v: 1}\nw: {<<: *x, v: 3}\nz: {<<: *x}\n", "x: &x {v: 2}\nw: {<<: *x, v: 3}\nz: {<<: *x}\n", []string{"x.v 1:8 1:8", "z.v 1:8 1:8"}},
	} {
		t.Run(name, func(t *testing.T) {
			was, err := Parse("was", []byte(tt.was))
			if err != nil {
				t.Fatal(err)
			}
			is, err := Parse("is", []byte(tt.is))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range Compare(was[0], is[0]) {
				at := func(s string) string {
					if s == "" {
						return "-"
					}
					_, s, _ = strings.Cut(s, ":")
					return s
				}
				got = append(got, fmt.Sprintf("%s %s %s", d.Path, at(d.Was.String()), at(d.Is.String())))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
