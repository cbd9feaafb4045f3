// Package follow keeps the platforms of Transforms ready in replicas of the manager that don't
// lead, for their webhooks.
//
// [Setup] is the entry point. Only the leader decides what a Transform comes to, and records it
// in the status. A follower fetches exactly that content, loads it in a worker process, and
// lists it in a catalog of its own. If it gets another content, such as that of a tag that has
// moved since, it lists nothing: a webhook that can't answer does no harm, and one that answers
// by another module does.
//
// Non-goals: a follower writes nothing to the cluster, and nothing is rendered by its catalog.
package follow
