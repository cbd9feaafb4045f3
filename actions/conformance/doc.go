// Package conformance checks that a server speaks version 1 of the executor protocol, which
// docs/executors.md describes.
//
// [Run] is the entry point. It begins runs at the server, which has the effects of real ones, and
// undoes the last one at the end.
//
// Non-goals: the package can't see what a server does. That the same key begins no second run
// is checked by what the server says about the run.
package conformance
