package cuefault

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
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

// judge fails the test if the fault called name is gone, or is back. known is its
// constant, and present reports whether its reproduction shows it.
func judge(t *testing.T, name string, known, present bool) {
	t.Helper()
	switch {
	case known && !present:
		t.Errorf("the fault is gone: set %s to false, run the tests of crdgen, and delete its workarounds", name)
	case !known && present:
		t.Errorf("the fault %s is back", name)
	}
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
			judge(t, test.name, test.fault, got != want)
		})
	}
}

// TestForbiddenEmbedding reads the field w of the values of the map a. The control
// has no if. An instance with the field shows that it is allowed.
func TestForbiddenEmbedding(t *testing.T) {
	const control = "#Def: x: int\n#Input: {a: [string]: {#Def, w?: int}, c: bool"
	const schema = control + ", if c {d: int}}"
	if !accepts(t, schema, "{a: k: {x: 1, w: 1}, c: false}") {
		t.Fatal("an instance can't have the field")
	}
	read := func(schema string) error {
		v := cuecontext.New().CompileString(schema).LookupPath(cue.ParsePath("#Input.a"))
		return v.LookupPath(cue.MakePath(cue.AnyString, cue.Str("w").Optional())).Err()
	}
	if err := read(control + "}"); err != nil {
		t.Fatal(err)
	}
	judge(t, "ForbiddenEmbedding", ForbiddenEmbedding, read(schema) != nil)
}

// overflowEnv tells the test program that it is the child of TestOverflow.
const overflowEnv = "PEQUOD_TEST_OVERFLOW"

// TestOverflow evaluates the reproduction in a process of its own, which the
// overflow of the stack ends.
func TestOverflow(t *testing.T) {
	if os.Getenv(overflowEnv) != "" {
		debug.SetMaxStack(64 << 20)
		v := cuecontext.New().CompileString("#Input: {x: int, c: ({if x == 1 {w: int}} | 5) & <5}")
		t.Log(v.LookupPath(cue.ParsePath("#Input")).Validate())
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOverflow$")
	child.Env = append(os.Environ(), overflowEnv+"=1")
	out, err := child.CombinedOutput()
	overflowed := strings.Contains(string(out), "fatal error: stack overflow")
	if err != nil && !overflowed {
		t.Fatalf("%v\n%s", err, out)
	}
	judge(t, "Overflow", Overflow, overflowed)
}

// TestPanics evaluates the reproduction and recovers from the panic.
func TestPanics(t *testing.T) {
	panics := func() (panicked bool) {
		defer func() { panicked = recover() != nil }()
		v := cuecontext.New().CompileString(`#Input: {a?: {x!: {[] | int}, x, if x {}}, d: {x: a} | {}, if a == _|_ {a: "b"}, if d {}}`)
		_ = v.LookupPath(cue.ParsePath("#Input")).Validate()
		return false
	}
	judge(t, "Panics", Panics, panics())
}
