// Package rollout decides which instances of a platform get a new version of its module,
// and when.
//
// [Decide] is the entry point. It is a pure function of the settings of the Transform, its
// instances, the state that was recorded in status.rollout, and the time. Its
// [Decision] has the next state to record, and the instances that may be changed now.
//
// A controller calls it in a loop:
//
//	d := rollout.Decide(in)
//	if d.Record { write d.State to status.rollout; start over }
//	for each of d.Update:  apply the graph of the new version
//	for each of d.Restore: apply the graph of the version before
//	start over at d.WakeAt, or when an instance changes
//
// Graphs have the digest of the module that rendered them, so an instance that was changed is
// known as changed. A batch is recorded before its first instance changes: Update is empty
// as long as Record is set. A controller that is killed at any moment therefore continues
// where it ended, and changes no instance twice or out of order. Recording a state twice is
// harmless.
//
// Instances take part in a rollout by these rules:
//
//   - Instances that the new version changes in the same way form an impact group. The
//     first batch has a canary of each group. It is carried out in steps of the size that
//     the settings give the batch.
//   - Instances whose graph stays the same get the new version after the last batch.
//   - Refused and pinned instances keep what they have.
//   - Instances that are created during a rollout get the version of [Decision].Create, and
//     then take part.
//
// [Plan] computes the batches in advance.
//
// The package renders nothing, makes no requests and keeps no state.
package rollout
