// Package crdgen turns the CUE schema of a module, its #Input, into the
// CustomResourceDefinition of the kind that the module offers.
//
// [Generate] is the entry point. It works in three steps:
//
//	cue.Value --read--> shape --write--> JSONSchemaProps --Validate--> CRD
//
// Reading (reader.go, object.go, list.go) takes the expressions of a
// [cue.Value] apart; it never tries values out. A shape (shape.go) is the set
// of JSON values that a schema admits, as a union of terms of one kind each.
// Writing (write.go and the files beside it) says a shape in the language of
// structural schemas.
//
// One rule governs every step: what the CRD rejects, CUE rejects. A shape is
// therefore always at least as wide as the CUE value it was read from; wherever
// it is wider, because the reader doesn't understand an expression or because a
// structural schema can't say it, there is a [Note] with the position of what
// is left to rendering. Defaults are written only where they don't depend on
// other input, so that an instance renders the same before and after the API
// server filled them in.
//
// The package reads no files, talks to no cluster and renders no instances.
package crdgen
