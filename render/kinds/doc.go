// Package kinds checks Kubernetes objects without a cluster: API versions that
// were removed, fields that the kind does not have or lacks, values that a
// field does not accept, and readiness checks that can never pass.
//
// [Catalog.Check] checks a whole object and [Catalog.Ready] the readiness
// checks of a node. [Catalog.Lookup] returns the [Type] of a kind, for callers
// that know an object only in part. Problems have the rule
// [problem.RuleSchema] and a path from the object or the node; the caller adds
// positions.
//
// The built-in kinds of Kubernetes are a table (table.go, builtin.txt) that is
// generated from the Go types of k8s.io/api and parsed on first use. Other
// kinds are added as CustomResourceDefinitions (crd.go), and their objects are
// validated with the API server's own code (crdvalidation.go).
//
// The package knows no cluster and no CUE. It does not check rules that the API
// server has in Go code, such as that a selector must match the labels of the
// template.
package kinds

//go:generate go run ./gen builtin.txt
