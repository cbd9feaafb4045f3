// Package trace turns the status of graphs into traces of OpenTelemetry: a trace for each revision of a
// graph, and a span for each node, from its apply until it was ready.
//
// [Of] makes the traces, as a pure function; [Setup] adds the controller, which puts them into an outbox.
// The ids of traces and spans are made of the UID of the graph, its generation and the attempt, so a
// trace that is made again, by this process or another one, is the same.
//
// Non-goals: the package doesn't use the SDK of OpenTelemetry, which makes ids and times of its own while
// a program runs. An execution is known when it has ended, with its times.
package trace
