// Package crdgen turns the CUE schema of a module, its #Input, into the
// CustomResourceDefinition of the kind that the module offers.
//
// [Generate] is the entry point; [Options] adds a module's #Status and further
// versions. It works in three steps:
//
//	cue.Value --read--> shape --write--> JSONSchemaProps --Validate--> CRD
//
// Reading (reader.go, object.go, union.go, list.go) takes the expressions of a
// [cue.Value] apart; it never tries values out. A shape (shape.go) is the set of
// JSON values that a schema admits, as a union of terms of one kind each. What
// fields demand of each other waits in the frame of their struct (frame.go)
// until all of them are known, and is then translated from CUE's syntax to CEL
// (resolve.go, translate.go, comprehension.go, fill.go). Writing (write.go and the
// files beside it) says a shape in the language of structural schemas, and in CEL
// what that can't say (predicate.go): a predicate holds for every value of a shape,
// and is exact if it holds for no other. What an API server then refuses as too
// costly is left out, and no more than that (refuse.go, cost.go).
//
// One rule governs every step: what the CRD rejects, CUE rejects. A shape is
// therefore always at least as wide as the CUE value it was read from; wherever
// it is wider, because the reader doesn't understand an expression, because
// neither a schema nor CEL can say it, or because the API server finds the rule
// too costly, there is a [Note] with the position of what is left to rendering.
// Defaults are written only where they don't depend on other input and nothing
// is equal to their field (share.go), so that an instance renders the same before
// and after the API server filled them in.
//
// `make parity` measures the rule: for each form of schema in testdata/parity
// it holds CUE's verdict on documents against that of the API server's own
// code. FuzzParity does so with schemas that nobody wrote.
//
// # Attributes
//
// Some things have no words in CUE. A field's attribute says them:
//
//	hosts: [...{name: string, port: int}] @k8s(listType=map,listMapKey=name)
//	args?: [...string]                    @k8s(listType=atomic)
//	labels?: {[string]: string}           @k8s(mapType=atomic)
//	region: string                        @k8s(immutable)
//	size?: int                            @k8s(printerColumn="Size",priority=1)
//
// listType is atomic, set or map, with one listMapKey for each field that
// tells the items of a map apart; mapType is atomic or granular; immutable is
// the transition rule that the field stays what it was; printerColumn adds a
// column to kubectl get, after those of #Platform. Only the API server enforces
// them. An argument that isn't known is an error.
//
// The package reads no files, talks to no cluster and renders no instances.
package crdgen
