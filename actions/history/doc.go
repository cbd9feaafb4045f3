// Package history converts the status of graphs and Actions, and the Events about them, to rows,
// which outlive the status.
//
// [Revisions], [Runs] and [EventOf] are the entry points. They are pure functions. A row has a
// key that is the same whenever it is read from the cluster: the UID of the object, the generation
// and the number of the attempt. [MissedRevisions] counts the rows that left a status before they were
// stored.
//
// Package postgres stores rows, and package sink has the controller that reads them.
package history
