// Package action is the controller of Actions. It asks package runs for the next step of an
// Action, has an executor do it, and writes the result to the status.
//
// Each write has the resourceVersion that was read. So of two processes that want to begin a
// run, one records it. A request is sent only after the record of the run is stored, and what
// is sent comes from the record.
//
// [Setup] is the entry point. goal.go reads a spec, step.go does one step, took.go takes its
// result, status.go has the conditions, and report.go the Events.
package action
