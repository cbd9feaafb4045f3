// Package cuefault lists the faults of CUE v0.17.1 that reading a schema works
// around.
//
// Each fault is a constant that is true. Code that works around a fault tests
// the constant, so that a search for it finds every workaround. The doc comment
// of a fault has a minimal reproduction. A test evaluates it, and fails when a new
// version of CUE no longer has the fault. Then set the constant to false, run the tests of crdgen, and delete it
// together with its workarounds. We know of no upstream issue about any of the
// faults; a comment names the issue once there is one.
package cuefault

// OpenValidatedItems: the items of a list literal that is unified with a
// validator aren't closed. In a definition,
//
//	a: [...{x: int}] & list.MinItems(1)
//
// accepts {a: [{x: 1, y: 2}]}, and without the validator it doesn't.
const OpenValidatedItems = true

// OpenMatchedStructs: a struct that is unified with matchN or matchIf isn't
// closed, nor are the structs in it. In a definition,
//
//	a: {x?: int} & matchN(1, [{x!: _}])
//
// accepts {a: {x: 1, y: 2}}.
const OpenMatchedStructs = true

// ClosedTop: a definition closes {_}, which should admit everything. In a
// definition,
//
//	a: {_}
//
// rejects {a: {x: 1}}.
const ClosedTop = true

// ForgottenReference: an expression that reads an absent optional field is an
// error, but CUE forgets the error of a field that is also unified with a
// disjunction.
//
//	a?: int
//	b?: (>a) & (1 | 4)
//
// accepts {b: 4}. Without the disjunction it doesn't.
const ForgottenReference = true

// ForgottenGuard: an if that calls a function on a field that its own body
// declares has no effect if the field is a disjunction.
//
//	a?: string | int
//	if len(a) > 1 {
//		a!: float
//	}
//
// accepts {a: "ab"}. If a is a string only, it doesn't.
const ForgottenGuard = true

// ForbiddenEmbedding: in the values of a map, a field that is declared next to
// an embedded definition is the error "field not allowed" when the map is read, if
// the struct has an if whose clause is incomplete. Instances may have the field.
//
//	#Def: x: int
//	#Input: {a: [string]: {#Def, w?: int}, c: bool, if c {d: int}}
const ForbiddenEmbedding = true

// Overflow: evaluating some bounds by other fields overflows the stack, which
// ends the process.
//
//	x: int
//	c: ({if x == 1 {w: int}} | 5) & <5
//
// Values are therefore unified only where nothing else answers a question.
const Overflow = true

// Panics: evaluating some schemas panics in CUE, such as
//
//	a?: {x!: [] | int, x, if x {}}
//	d: {x: a} | {}
//	if a == _|_ {a: "b"}
//	if d {}
//
// Reading a schema therefore recovers from a panic of CUE and reports it as an
// error in the schema.
const Panics = true
