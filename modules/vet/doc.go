// Package vet finds errors in a module without an instance. It reports
//
//   - fields, values and API versions that the kinds of the rendered objects do not
//     have, and required fields that are missing,
//   - readiness checks that can never pass, and graphs that would be rejected,
//   - nodes that are never rendered, and guards that never hold,
//   - fields of the input that #Input does not have, and accepted losses of a version
//     that name no field of the stored one (losses.go),
//   - values that stay incomplete when an instance is rendered, such as an optional
//     field that is used without a guard.
//
// [Platform] checks a module with its CRD and its test cases, and [Policies] checks
// policies. The package reads files only through the loaded module, except for the test
// cases, and never changes them.
//
// [Module] is the check of the module alone. [Images] returns the images in its samples.
//
// It works in two steps. First it walks the syntax of #Render (inputwalker.go): it
// resolves what the module reads of the input (reads.go, schema.go), reports misspelled
// fields and impossible guards, and collects for every `if` and `for` the inputs for
// which it does and does not yield something (guards.go, wants.go). nodeids.go collects
// the ids of the nodes. Then it evaluates the module with samples of the input
// (example.go, sample.go, samplegraphs.go) and checks the resulting nodes (nodes.go):
// one sample without optional fields, one with all of them, and variants of both for
// every `if` and `for`. A sample only sets what it needs, so everything else stays a
// type. Each sample stands for instances that can exist. Therefore an error in a sample
// is an error for real instances. Samples whose input is complete are then rendered
// like instances (concrete.go), with strings made from patterns (pattern.go) where no
// common value matches.
//
// The schema of the input is a shape of package internal/schema, as it is for the CRD.
//
// For example, in the module
//
//	#Input: {replicas: int, ingress?: bool}
//	#Render: {
//		input: spec: #Input
//		output: nodes: {
//			app: resource: {apiVersion: "apps/v1", kind: "Deployment", spec: replica: input.spec.replicas}
//			if input.spec.ingres != _|_ {...}
//		}
//	}
//
// the walk reports that #Input has no ingres, with ingress as a hint. The evaluation
// reports that a Deployment has no spec.replica.
//
// value.go reads the values of evaluated nodes. Independently of the two steps,
// openlists.go finds list items in the schema that CUE leaves open by surprise.
//
// Non-goals: nodes below a guard that the package does not understand, such as a call
// of a function, may not be seen. Test cases and sample instances cover those.
package vet
