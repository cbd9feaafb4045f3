// Package controller executes the ResourceGraphs of a cluster.
//
// [Setup] adds it to a manager. Each graph has a driver, which is stepped by a
// worker whenever there is news of the graph: it changed, an object of it was
// seen to change, a request was answered, it is time for another try. A step
// feeds the engine (package engine) and starts what that asks for; it never
// waits. Requests are made in a bounded pool, as the graph's service account.
//
// Objects are watched kind by kind over all namespaces, by the label that they
// carry, with the applier's own rights to read; objects of others, which a graph
// only reads, one by one as the graph's account. What may not be watched is
// polled as the graph's account.
//
// What a graph owns stands in its status, with what came of its execution: the
// intent is one write, the result another. A graph that is as it should be is
// remembered by a few hundred bytes for each object (engine.Rest), and costs no
// request until something happens to one of them. Nothing that matters is in
// the process alone: one that is killed loses nothing.
package controller
