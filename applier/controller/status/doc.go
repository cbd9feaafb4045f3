// Package status composes the status of a ResourceGraph from the known facts
// about its execution. It is pure: it makes no requests and reads no clock.
//
// [Run.Status] returns the status of a run, finished or not, [Stalled] that of a
// graph that can't be executed, and [Suspended] that of a suspended one. All of
// them start from the stored status and change only the fields that they know
// better.
//
// The conditions follow kstatus, so that kubectl wait and GitOps tools understand
// them. Ready is always set. Reconciling is set while the applier works on the
// graph, and Stalled if it waits for a change by the user; never both.
//
//	run                      phase      Ready    also set
//	completed                Completed  True
//	stuck                    Failed     False    Stalled
//	in progress, a failure   Executing  False    Reconciling
//	in progress              Executing  Unknown  Reconciling
//	deleting                 Executing  False    Reconciling
//	deletion stuck           Failed     False    Stalled
//
// A graph and its status are stored as one object of limited size. All texts and
// lists are therefore bounded, see bounds.go. status.go composes a status, and
// nodes.go the states of the nodes in it.
package status
