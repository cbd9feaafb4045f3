// Package execute carries out rollouts: it brings a new version of a module to the instances
// of a platform in the order that package rollout decides.
//
// [Setup] adds the controller to a manager. For each Transform it does the same again and
// again: read the instances from the [board.Board], decide, write status.rollout of the
// Transform if the decision has to be recorded, and only then assign the new version to
// instances. The controllers of instances render and write the graphs.
//
//   - reconcile.go is one such round
//   - record.go writes status.rollout, the condition RolledOut and Events
//
// While no rollout is in progress and [board.Kind] counts no outdated instance, instances aren't read.
//
// The Transform has all that a restarted manager needs. A version that no instance and no
// rollout needs is deleted from the revisions.
//
// The package renders nothing and knows no graphs.
package execute
