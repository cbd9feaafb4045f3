// Package runs decides what happens next to one Action. It is pure: [Next] takes the goal, the
// status and the time, and returns one step. The functions of record.go change a status by
// the result of a step.
//
// A run is recorded in the status before anything is sent, and the record has the request. So
// after a crash the run is found, or sent again with the same key, by what was recorded, even
// if the spec has changed since. At most one run of an Action is open at any time.
//
// Non-goals: the package sends no request, and knows no executor.
package runs
