// Package compat compares two versions of a CRD and finds the changes that
// break existing objects: objects that the old definition accepts and the new
// one rejects, or reads differently.
//
// [Check] is the entry point. A change that it calls safe is safe: every object
// that the old schema accepts, the new one accepts. A change that it can't judge
// counts as breaking. It compares schemas as sets of objects, keyword by keyword
// (schema.go for types and lists, scalar.go, object.go for fields, junctors.go for
// combinations of schemas, rule.go for rules in CEL); watch.go finds the rules that
// may read a field that appears. version.go compares versions. It evaluates no
// objects.
//
// testdata/releases.yaml has changes in the shape of those between real releases,
// each with its verdict.
//
// For example, if maximum of spec.replicas goes from 10 to 5, Check returns the
// breaking change "maximum 10 → 5" with the path spec.replicas and the rule
// bound. From 5 to 10 it would be safe.
//
// Descriptions, printer columns, labels and annotations are not compared, because
// no object depends on them.
package compat
