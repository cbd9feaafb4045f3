// Package monitor checks Monitors without a cluster: what modules render is refused at its line, and
// pequod-actions refuses the same.
//
// [Compile] is the entry point. Non-goals: fields, types and bounds are those of the CRD, which
// package render/kinds checks.
package monitor
