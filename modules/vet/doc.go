// Package vet says what is wrong with a module before there is an instance:
// fields, values and versions that the kinds of its nodes don't have, or that they
// lack, checks of readiness that can't pass, graphs that would be refused, nodes
// that are never made, names of the input that #Input doesn't have, and conditions
// that never hold.
//
// [Module] is the entry point, [Policy] its like for policies. The module is
// evaluated with samples of its input: only what a sample needs is given, so that
// everything else is a name or a type and no value. There is one with nothing that
// is optional, one with everything, and for each `if` and `for` some for which it
// makes something, and some for which it doesn't. Every sample is what some
// instances are, so that nothing is said that is true of none.
//
// What stands below a condition that isn't understood, such as a call of a
// function, may not be seen: that belongs to samples of users, and to cases.
package vet
