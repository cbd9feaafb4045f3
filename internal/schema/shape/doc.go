// Package shape is the algebra of shapes. A shape is a set of JSON values: what
// a schema admits.
//
// [Shape] is a union of [Term]s. A term holds the values of one kind that meet
// its constraints: bounds for numbers, patterns for strings, items for lists,
// fields for objects. [Intersect] and [Union] combine shapes. Both may return a
// superset of the exact result, never a subset: a value that is not allowed may
// count as allowed, but never the reverse.
//
// The files follow the kinds of values: shape.go has the types, kind.go the
// kinds, number.go, strings.go, format.go and layout.go the constraints on
// scalars, check.go the constraints that only CEL can express.
// intersect.go and union.go have the operations, envelope.go the smallest
// objects and lists that cover a union, and exclusive.go the questions about
// choices between objects.
//
// The package is pure data. It imports neither CUE nor Kubernetes: package
// internal/schema/read makes shapes from CUE, package crdgen writes them as
// OpenAPI schemas, and package internal/schema/cel writes them as CEL.
package shape
