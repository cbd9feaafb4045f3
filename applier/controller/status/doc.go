// Package status composes the status of a ResourceGraph from what is known about
// its execution. It is pure: it makes no requests and reads no clock.
//
// [Run.Status] returns the status of a run, finished or not, [Stalled] that of a
// graph that can't be executed, and [Suspended] that of a suspended one. All of
// them start from the stored status and change only what they know better.
//
// A graph and its status are stored as one object of limited size. All texts and
// lists are therefore bounded, see bounds.go.
package status
