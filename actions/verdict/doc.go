// Package verdict decides what a Monitor does: it takes the readings of its targets, and returns
// the next status, and which rules have fired.
//
// [Compile] returns the [Plan] of a Monitor, which package api/monitor checks. [Plan.Next] is one step. The package reads no
// clock and has no client: the controller and the offline test of Monitors use it.
package verdict
