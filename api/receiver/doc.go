// Package receiver checks Receivers without a cluster: what modules render is refused at its line, and
// pequod-actions refuses the same.
//
// [Check] is the entry point. Non-goals: fields, types and bounds are those of the CRD, which
// package render/kinds checks; kinds that the flags of pequod-actions allow.
package receiver
