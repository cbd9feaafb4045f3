// Package syntax answers questions about CUE syntax trees.
//
// CUE evaluates the expressions of a schema with the schema alone. An
// expression that refers to a field of the instance then has a value that it
// won't have in an instance, because defaults stand in for the missing data.
// depend.go tells from the source which expressions those are. guarded.go
// collects the bodies of ifs and fors that depend on the instance. The other
// files describe the parts of expressions: labels, calls, disjunctions.
//
// The package evaluates nothing. It relies on the identifiers of a tree being
// resolved, as they are in trees that cue/load or cue.Context have compiled.
//
// For example, in
//
//	#Input: {min: int, max: int & >=min, mode: *"a" | "b", if mode == "b" {n: int}}
//
// AnyFieldRefers reports true for int & >=min, and the Guarded of the literal has
// the field n.
package syntax
