// Package cause finds out why an object isn't ready, in the words of those who
// know: its Pods, the controllers that report by Events, its own conditions.
//
// [Find] reads what it needs, at most one list of Pods, one of Events, and where
// a Deployment has Pods of several revisions one of ReplicaSets. It gives one
// short line, such as
//
//	pod web-7f9c-x: image example.com/web:2 can't be pulled: not found; 3 pods alike
//
// or "" if nothing tells. Where an application wrote what a Pod reports, such as
// a termination message or what an exec probe printed, it is left out: it may
// hold what no status should show.
//
// Whether an object is ready is for package readiness to say.
package cause
