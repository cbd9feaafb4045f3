// Package action checks Actions without a cluster: what modules render is refused at its line
// before anything runs.
//
// [Check] is the entry point. Non-goals: fields, types and bounds are those of the CRD, which
// package render/kinds checks.
package action
