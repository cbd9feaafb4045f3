package consequences

import (
	"slices"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// TestWarnings compares the warnings of package objectdiff about immutable fields with
// what the API server refused.
func TestWarnings(t *testing.T) {
	cases, err := Cases("testdata")
	if err != nil {
		t.Fatal(err)
	}
	measured, err := ReadMeasurements("testdata")
	if err != nil {
		t.Fatal(err)
	}
	warned := 0
	for _, c := range cases {
		before, after, err := c.Objects()
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objectdiff.Compare(before, after).Objects {
			if !slices.ContainsFunc(o.Warnings, refuses) {
				continue
			}
			warned++
			if measured.Cases[c.Name].Refused == "" {
				t.Errorf("%s: %v, but the API server accepted it", c.Name, o.Warnings)
			}
		}
	}
	t.Logf("%d warnings about changes that the API server refuses", warned)
}

// refuses reports whether there is a warning that the API server refuses the change.
func refuses(w problem.Problem) bool {
	return w.Rule == objectdiff.RuleImmutable && strings.Contains(w.Message, "the API server refuses it")
}
