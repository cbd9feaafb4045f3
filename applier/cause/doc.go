// Package cause finds out why an object isn't ready. Its sources are the object's
// Pods, the Events of its controllers, and its own conditions.
//
// [Find] is the entry point. It returns one short line, such as
//
//	pod web-7f9c-x: image example.com/web:2 can't be pulled: not found; 3 pods alike
//
// or "" if no cause is found. It sends at most three requests: a list of Pods, a
// list of Events and, for a Deployment with Pods of several revisions, a list of
// ReplicaSets.
//
// Together with the line, Find returns a state if it knows more than the object's own
// status tells. An object is [readiness.Degraded] if its Pods have failed for a while: they
// crash, or their image or configuration is missing. A PersistentVolumeClaim that only a
// Pod gets bound is [readiness.Ready].
//
// Text that an application wrote, such as a termination message or the output of
// an exec probe, is left out: the line ends up in the status of the graph, and an
// application may write secrets.
//
// In all other cases, package readiness decides whether an object is ready.
//
// The files, from the bottom up:
//
//   - podcause.go: the type for the cause of one Pod, and how causes are ranked
//   - container.go, pod.go: the cause of a container and of a Pod
//   - events.go: what Events add, and fields and conditions of unstructured objects
//   - revision.go: which Pods belong to the newest revision of a workload
//   - explain.go: chooses the line for an object
//   - find.go: Find, which sends the requests, and explains a PersistentVolumeClaim
package cause
