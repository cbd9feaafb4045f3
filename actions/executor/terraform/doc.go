// Package terraform is the executor that applies OpenTofu configurations: a run is a Job in the
// namespace of the Action, or two if its plan waits for approval. The first Job makes the plan, and
// the second Job, whose name ends in -apply, applies it. Both run package runner.
//
// A run gets the files of the configuration and the variables in a Secret, which is written before
// the Job. The Job stores the plan and the outputs in a Secret of its name. Package job does
// what all executors with Jobs do.
package terraform
