// Package job is the executor that runs containers: a run is a Kubernetes Job in the namespace of
// the Action, which the service account of the Action creates, reads and deletes.
//
// The name of the Job is derived from the key of the run, so it is created once, and found by its
// name after a crash. A Job isn't removed by its age before its end was seen, and its run recorded
// as begun: otherwise the run would seem not to have begun.
//
// [New] returns the executor. [Jobs] does the work for executors whose runs are Jobs, too.
package job
