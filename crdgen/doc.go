// Package crdgen turns the CUE schema of a module, its #Input, into the
// CustomResourceDefinition of the kind that the module offers.
//
// [Generate] is the entry point. It works in three steps:
//
//	cue.Value --read--> shape --write--> JSONSchemaProps --validate--> CRD
//
// Package internal/schema/read makes shapes of CUE values, rules included.
// This package writes a shape as a structural schema with defaults (write.go and
// the files named write_*.go), unknown fields (unknownfields.go) and rules
// (rules.go). props.go has the algebra of schemas. What no schema can express becomes a
// rule in CEL, with package internal/schema/cel. crd.go and status.go have the
// rest of the definition. validate.go runs the API server's own validation;
// droprules.go and cost.go drop the rules that it doesn't accept, and no others.
//
// One invariant governs every step: what the CRD rejects, CUE rejects. A shape
// is therefore never narrower than the CUE value that it was read from. Where it
// is wider, because the reader doesn't understand an expression, because neither
// a schema nor CEL can express it, or because the API server finds a rule too
// expensive, Result.Notes has the position of what is left to rendering.
//
// A default is written only if an instance renders the same before and after
// the API server has set it.
//
// `make parity` measures the invariant: for each form of schema in
// testdata/parity it compares CUE's verdict on documents with the verdict of the
// API server's own code. FuzzParity does so with random schemas.
//
// # Attributes
//
// CUE has no words for some properties of a CRD. A field's attribute states
// them:
//
//	hosts: [...{name: string, port: int}] @k8s(listType=map,listMapKey=name)
//	args?: [...string]                    @k8s(listType=atomic)
//	labels?: {[string]: string}           @k8s(mapType=atomic)
//	region: string                        @k8s(immutable)
//	size?: int                            @k8s(printerColumn="Size",priority=1)
//	replicas: *1 | int                    @k8s(scale=.status.replicas)
//	tags?: [...string]                    @k8s(rule="self != ''",message="is empty",on=[])
//
// listType is atomic, set or map, with one listMapKey for each field that
// identifies an item of a map. mapType is atomic or granular. immutable is the
// transition rule that the value can't change. printerColumn adds a column to
// kubectl get, after those of #Platform. scale makes the field the number of replicas
// that the scale subresource sets, and has the path of the current number in #Status;
// scaleSelector is the path of the selector of the Pods there. Only the API server
// enforces these. rule adds a rule in CEL with the other arguments of
// x-kubernetes-validations; on is [] or .* if it is about the items or values of the
// field. Rules about spec itself are in the struct of #Input. Package render enforces
// rules, too, and they are never dropped. An unknown argument is an error, and so is an attribute that an API
// server refuses.
//
// The package reads no files, contacts no cluster and renders no instances.
//
// # Example
//
// From the definition
//
//	#Input: {replicas: *1 | int, min: int, max: int & >=min}
//
// the package makes this schema of spec:
//
//	type: object
//	required: [max, min]
//	properties:
//	  max: {type: integer}
//	  min: {type: integer}
//	  replicas: {type: integer, default: 1}
//	x-kubernetes-validations:
//	- {rule: self.max >= self.min, message: "max must be >=min", fieldPath: .max}
package crdgen
