// Package cuesyntax builds and reads CUE syntax that stands for data: structs
// with quoted labels, lists and plain values, without references.
//
// Instances are evaluated from such syntax and not from Go values, because only
// syntax carries positions to CUE and its errors.
//
//   - literal.go and number.go build values, fields.go builds and reads structs;
//   - position.go converts CUE's positions, and finds the position of a value in
//     data or in a module.
//
// Package yamlfile produces this syntax from YAML. Code right of the
// ResourceGraph must not import this package, because it links CUE.
package cuesyntax
