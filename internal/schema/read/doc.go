// Package read reads a CUE value as a shape: what the value admits.
//
// [Value] is the entry point. It takes the expressions of a value apart with
// cue.Value.Expr and never tries values out. The result admits everything that
// CUE admits. Where it admits more, because the reader doesn't understand an
// expression or no shape can express it, there is a note with the position.
//
// A reader calls itself for the parts of a value. What it knows about the
// position of a value, its modes included, is a context (context.go), which is
// passed by value.
//
//   - reader.go dispatches: conjuncts, then literals and basic types.
//   - conjunct.go takes a value apart at its &.
//   - scalar.go reads bounds and validators, match.go matchN and matchIf.
//   - struct.go reads disjunctions of structs, object.go one struct, field.go one
//     field, map.go patterns and other fields, list.go lists.
//   - defaults.go finds the default of a field, shared.go the fields whose
//     default must not be written.
//   - sources.go and ways.go find what ifs and fors may add to a struct.
//   - reference.go and wait.go defer what refers to other fields; package
//     translate makes rules of it. static.go evaluates what refers to none.
//   - convert.go converts CUE's kinds, positions and literals.
//
// Faults of CUE that the reader works around are in package cuefault.
//
// For the definition
//
//	#Input: {port: *80 | int & >0 & <65536, host?: string, name: string}
//
// the result is a struct with three fields: port, an integer with two limits and
// the default 80; host, an optional string; and name, a required string. There
// are no notes.
//
// The package doesn't write schemas or CEL; package crdgen does. It reads no
// files.
package read
