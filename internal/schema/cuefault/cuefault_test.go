package cuefault

import (
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
)

// accepts reports whether CUE accepts doc as a value of the schema's #Input.
func accepts(t *testing.T, schema, doc string) bool {
	t.Helper()
	v := cuecontext.New().CompileString(schema + "\ndoc: #Input & " + doc)
	result := v.LookupPath(cue.ParsePath("doc"))
	if !result.Exists() {
		t.Fatalf("%v\n%s", v.Err(), schema)
	}
	return result.Validate(cue.Concrete(true)) == nil
}

// TestFaults evaluates a reproduction of each fault. Control is the same schema
// without the cause of the fault, which shows what CUE should say.
func TestFaults(t *testing.T) {
	for _, test := range []struct {
		name            string
		fault           bool
		schema, control string
		doc             string
	}{
		{
			"OpenValidatedItems", OpenValidatedItems,
			"import \"list\"\n#Input: a: [...{x: int}] & list.MinItems(1)",
			"#Input: a: [...{x: int}]",
			"{a: [{x: 1, y: 2}]}",
		},
		{
			"OpenMatchedStructs", OpenMatchedStructs,
			"#Input: a: {x?: int} & matchN(1, [{x!: _}])",
			"#Input: a: {x?: int}",
			"{a: {x: 1, y: 2}}",
		},
		{
			"OpenMatchedStructs, inside", OpenMatchedStructs,
			"#Input: a: {x?: int, d?: {p?: int}} & matchN(1, [{x!: _}])",
			"#Input: a: {x?: int, d?: {p?: int}}",
			"{a: {x: 1, d: {q: 2}}}",
		},
		{
			"ClosedTop", ClosedTop,
			"#Input: a: {_}",
			"#Input: a: _",
			"{a: {x: 1}}",
		},
		{
			"ForgottenReference", ForgottenReference,
			"#Input: {a?: int, b?: (>a) & (1 | 4)}",
			"#Input: {a?: int, b?: (>a) & int}",
			"{b: 4}",
		},
		{
			"ForgottenGuard", ForgottenGuard,
			"#Input: {a?: string | int, if len(a) > 1 {a!: float}}",
			"#Input: {a?: string, if len(a) > 1 {a!: float}}",
			"{a: \"ab\"}",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, want := accepts(t, test.schema, test.doc), accepts(t, test.control, test.doc)
			switch {
			case got == want && test.fault:
				t.Errorf("the fault is gone: set %s to false, run the tests of crdgen, and delete its workarounds", test.name)
			case got != want && !test.fault:
				t.Errorf("the fault is back: %s", test.schema)
			}
		})
	}
}
