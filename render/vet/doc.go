// Package vet says what is wrong with a module before there is an instance:
// fields and versions that the kinds of its nodes don't have, checks of
// readiness that can't pass, dependencies that nothing makes, names of the input
// that #Input doesn't have, and conditions that never hold.
//
// [Module] is the entry point, [Policy] its like for policies. The module is
// evaluated with an input that is only its schema: names of fields are known
// then, and values where they depend on nothing. What an `if` makes is looked at
// as if its condition held, one `if` at a time and all at once; what a `for`
// makes is not seen, and belongs to samples and cases.
package vet
