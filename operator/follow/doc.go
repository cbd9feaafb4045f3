// Package follow keeps the platforms of Transforms ready in replicas of the manager that don't
// lead, for their webhooks.
//
// [Setup] is the entry point. Only the leader decides what a Transform comes to, records it in
// the status, and keeps the sources in the cluster (package operator/revision). A follower reads
// these sources, loads them in a worker process, and lists them in a catalog of its own. Without
// them, it lists nothing: a webhook that can't answer does no harm, and one that answers by
// another module does.
//
// Non-goals: a follower writes nothing to the cluster, and nothing is rendered by its catalog.
package follow
