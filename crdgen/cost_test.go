package crdgen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An API server bounds what all rules of a CRD cost together. What is over it is
// left out with a note, always the same rules, and no more than need be.
func TestRulesTogetherTooCostly(t *testing.T) {
	var b strings.Builder
	b.WriteString("#Input: {\n")
	const fields = 60
	for i := range fields {
		fmt.Fprintf(&b, "\tf%d?: {[=~\"^x-\"]: int}\n\tg%d: int\n\th%d?: int & >=g%d\n", i, i, i, i)
	}
	b.WriteString("}\n")
	var first *Result
	for range 3 {
		result, err := generate(inputOf(t, []byte(b.String())), testNames())
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = result
		}
		if diff := cmp.Diff(first.CRD, result.CRD); diff != "" {
			t.Fatalf("generated twice (-first +then)\n%s", diff)
		}
	}
	spec := first.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	kept := 0
	for _, p := range spec.Properties {
		kept += len(p.XValidations)
	}
	if kept == 0 || kept == fields || len(first.Notes) != fields-kept {
		t.Errorf("%d of %d costly rules are kept, and there are %d notes", kept, fields, len(first.Notes))
	}
	if len(spec.XValidations) != fields {
		t.Errorf("%d of %d cheap rules are kept", len(spec.XValidations), fields)
	}
}
