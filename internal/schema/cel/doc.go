// Package cel writes CEL predicates for shapes.
package cel
