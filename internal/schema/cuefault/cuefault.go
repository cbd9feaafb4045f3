// Package cuefault lists the faults of CUE v0.17.1 that reading a schema works
// around.
//
// Each fault is a constant that is true. Code that works around a fault tests
// the constant, so that a search for it finds every workaround. The doc comment
// of a fault has a minimal reproduction if one is known, and TestFaults
// evaluates it: the test fails when a new version of CUE no longer has the
// fault. Then set the constant to false, run the tests of crdgen, and delete it
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
// an embedded definition may be the error "field not allowed" when the map is
// read, although instances may have the field. No small schema reproduces it.
//
//	#Def: {x: int}
//	a: {[string]: {#Def, w?: int}}
const ForbiddenEmbedding = true

// Overflow: evaluating some bounds by other fields overflows the stack, which
// ends the process.
//
//	x: int
//	c: ({if x == 1 {w: int}} | 5) & <5
//
// Values are therefore unified only where nothing else answers a question.
// TestFaults can't survive the reproduction; crdgen's TestExaminerSurvives
// evaluates it in a process of its own.
const Overflow = true

// Panics: evaluating some disjunctions and cycles panics in CUE. A panic is
// reported as an error in the schema. The fuzz targets of crdgen find
// reproductions; none of them is small.
const Panics = true
