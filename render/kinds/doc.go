// Package kinds checks Kubernetes objects without a cluster: API versions that
// were removed, fields that the kind does not have or lacks, values that a field
// does not accept, and readiness checks that can never pass.
//
// [Catalog.Check] checks a whole object, [Catalog.Ready] the readiness checks of
// a node, and [Catalog.CheckNode] both. [Catalog.Lookup] returns the [Type] of a
// kind, for callers that know an object only in part. Problems have the rule
// [problem.RuleSchema] and a path from the object or the node; the caller adds
// positions. Examples of problems:
//
//	apiVersion: networking.k8s.io/v1beta1 Ingress is gone since Kubernetes 1.22 (use networking.k8s.io/v1 Ingress)
//	spec.replicas: must be an integer, not a string
//	readyWhen[0].type: JobComplete can't hold for a Deployment (use DeploymentAvailable)
//
// The built-in kinds of Kubernetes are a table (table.go, builtin.txt) that is
// generated from the Go types of k8s.io/api and parsed on first use. Other kinds
// are added as CustomResourceDefinitions (crd.go), and their objects are
// validated with the API server's own code (crdvalidation.go). Both have one
// form, a Type (type.go), which check.go compares with objects. node.go and
// ready.go check nodes.
//
// The package knows no cluster and no CUE. It does not check rules that the API
// server has in Go code, such as that a selector must match the labels of the
// template.
package kinds

//go:generate go run ./gen builtin.txt
