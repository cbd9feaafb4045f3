// Package kinds says what is wrong with Kubernetes objects before any cluster
// sees them: API versions that are gone, fields that the kind doesn't have or
// lacks, values that they don't take, and checks of readiness that can never pass.
//
// [Catalog.Check] judges a whole object and [Ready] the checks of a node;
// [Catalog.Lookup] gives a kind's [Type], for those who know an object only in
// part. The kinds that Kubernetes has come with the package, as a table that is
// read on first use; others are given as CustomResourceDefinitions, and their
// objects are judged with the API server's own code.
//
// It knows no cluster and no CUE. Bounds that the API server keeps in Go code,
// such as that a selector must match the template's labels, are not checked.
package kinds

//go:generate go run ./gen builtin.txt
