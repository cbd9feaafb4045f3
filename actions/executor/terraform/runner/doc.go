// Package runner is the program in the Pods of the executor terraform. An init container copies
// pequod-actions into the container with OpenTofu, where it runs the program tofu with the files of
// the configuration.
//
// A run has an [Input], which is in a Secret, and a [Result], which is written to another one. Both
// belong to the Job. A plan that waits for approval is beside its result. The state of OpenTofu is
// in a Secret without an owner, since nothing else records which resources exist.
//
// [Main] is the entry point.
package runner
