// Package compat compares two versions of a CRD and finds the changes that
// break existing objects: objects that the old definition accepts and the new
// one rejects, or reads differently.
//
// [Check] is the entry point. A change that it calls safe is safe: every object
// that the old schema accepts, the new one accepts. A change that it can't judge
// counts as breaking. It compares schemas as sets of objects, keyword by keyword
// (schema.go for scalars and lists, object.go for objects and rules); watch.go
// finds the rules that may read a field that appears. It evaluates no objects.
package compat
