// Package engine decides what to do next so that a cluster matches a graph.
//
// The entry points are [New] and [NewDelete], which create an [Engine], and
// [Engine.Step]. Step evaluates what is known and returns actions, such as
// "apply this object", and the time of the next step. The driver executes the
// actions, as many at a time as it likes, and returns their outcomes with
// [Engine.Done]; it reports events of watches with [Engine.Observe],
// [Engine.ObserveGone] and [Engine.ObserveAll]. Then it calls Step again.
//
// The engine sends no requests, starts no goroutines, never blocks and reads no
// clock. A command line and a controller therefore drive the same engine, and a
// test needs no cluster to check what happens when requests fail in any order.
//
// The engine is level-triggered: each step evaluates every node with news from
// the newest observation of its object. Does it exist, does it belong to the
// graph, is it as it was last applied, is it ready? Apart from observations, the
// engine only keeps the inventory and the times of retries. A process that is
// killed at any moment loses nothing but time.
//
// # Rules
//
//   - A node is applied when all nodes that it depends on are ready. A node never
//     waits for a node that it doesn't depend on, and a failed node blocks only
//     its dependents.
//   - The intent is recorded in the inventory before the first write, unless the
//     driver makes sure that the objects are found without it.
//   - The scope of a kind is never guessed. As long as the cluster doesn't serve a
//     kind, its nodes wait and aren't recorded.
//   - An object is written or removed only if it belongs to the graph: the graph
//     created it, may adopt it, or got it from another graph.
//   - Objects that left the graph are removed when every node is ready, in
//     reverse order, level by level. An object that another graph lists is handed
//     over to that graph instead, and earlier: two graphs may wait for objects of
//     each other.
//
// # Files
//
// The state of an [Engine] is divided by its source. engine.go lists the parts:
// nodes (node.go) hold the desired state, the cache (observation.go, cache.go) the
// observed state, the ledger (ledger.go) the recorded state, and removals
// (removal.go) the plan for objects that left the graph. The state of the current
// step collects the actions that the step requests.
//
// step.go runs one step. It looks up kinds whose scope isn't known (discover.go) and
// reads the objects once (survey.go). For each node, reconcile.go chooses between reading
// (read.go, and poll.go while it waits), waiting, failing (nodestatus.go), and writing; decide.go compares
// desired with observed, and apply.go requests the write. prune.go orders
// removals, and remove.go decides about one object. done.go receives outcomes.
//
// The package doesn't know the Kubernetes API: package cluster executes actions.
package engine
