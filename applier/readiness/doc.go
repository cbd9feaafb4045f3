// Package readiness decides whether a live object is ready.
//
// [Compile] makes a [Checker] of a graph's node, once. [Checker.Evaluate] returns
// a [Verdict] whenever the object has changed: ready, progressing or failed, with
// a short message for people. A node with several checks is ready when all of them
// pass. A node without checks is ready when kstatus computes the status Current;
// objects without status, such as ConfigMaps, are Current at once.
//
// An object that is being deleted is never ready. Neither is one whose status was
// written for an older generation. Failed is not final: the object becomes ready
// if someone repairs it.
//
// A PersistentVolumeClaim of a storage class with volumeBindingMode
// WaitForFirstConsumer is ready while it is Pending: it is bound only when a Pod uses it,
// and that Pod may wait for the claim. A Pending claim is [Undecided] until that mode is
// known from its Events.
//
// The package evaluates the object alone and sends no requests. Why the Pods of a
// Deployment don't start, and what Events tell about a claim, is found out by package
// cause.
//
// # Files
//
//   - checker.go, verdict.go: Compile, Checker and its Verdict
//   - checks.go: the table of checks and their functions
//   - kstatus.go: the default check, and messages for the results of kstatus
//   - status.go: reads conditions, generations and other fields of an object
package readiness
