// Package outbox sends messages to one server outside of the cluster: Events of objects, or
// traces of executions.
//
// Nothing waits for the server. A message that can't be sent is repeated with a backoff, in a queue
// that is bounded by its length and by the age of its messages; what leaves the queue unsent is
// counted. Each message has an id. An id is sent once by a process. A Lease has the time up to which
// everything was sent, so after a restart nothing old is sent again, and what waited in the queue is.
// A process that is killed may send the messages of its last seconds twice, with equal ids.
//
// [New], [Outbox.Put] and [Outbox.Start] are the entry points.
package outbox
