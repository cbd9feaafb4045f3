// Package cel writes shapes as CEL expressions.
//
// [Holds] returns the [Predicate] that a value is in a shape, given the shape
// that the OpenAPI schema declares for the value: only what the schema can't
// express has to be written in CEL. A predicate is true for every value of the
// shape, so that a rule made of it rejects nothing that CUE accepts. It is
// exact if it is false for all other values; where it isn't, the caller reports
// a note.
//
// predicate.go has the predicates and their logic, the other files one kind of
// shape each: scalar.go, format.go, list.go, object.go, check.go, choice.go.
//
// The package writes text only. It doesn't compile or run CEL, and it doesn't
// know what a rule costs; package crdgen asks the API server's code for that.
//
// For example, the OpenAPI schema can declare that a field is a string or an
// integer, but not which of them has which limits. For
//
//	port: int & >0 | "http"
//
// [Holds] with the text self.port for v returns an exact predicate of the form
//
//	(type(self.port) == int && self.port > 0) || (type(self.port) == string && self.port == 'http')
package cel
