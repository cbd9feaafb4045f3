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
//   - reader.go dispatches: conjuncts, then literals, basic types and calls.
//   - struct.go reads structs and disjunctions of them, field.go one field,
//     elements.go lists, maps and patterns, match.go matchN and matchIf, and
//     reference.go references and expressions outside of the evaluated value.
//     lookup.go reads the choices that other fields make, closed.go finds out
//     what closes a struct. These files call each other, because values are
//     nested.
//   - conjunct.go takes a value apart at its &, operand.go, scalar.go and
//     validator.go read operations, bounds and builtins.
//   - collect.go and sources.go find the literals of a struct and what ifs and
//     fors may add to it, members.go the members of a disjunction, ways.go the
//     values that a field may have under ifs.
//   - defaults.go finds the default of a field, shared.go the fields whose
//     default must not be written.
//   - wait.go defers what refers to other fields; package translate makes rules
//     of it. build.go compiles what refers to none.
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
