// Package engine decides what is to be done next to make a cluster match a
// graph. It talks to nobody and never waits: [Engine.Step] looks at what is
// known and returns actions and the time at which to look again; the driver
// carries them out, as many at once as it likes, and tells the engine by
// [Engine.Done] and [Engine.Observe] what came of them and what it sees. So a
// command line and a controller drive the same engine, and a test needs no
// cluster to see what the engine does when anything fails in any order.
//
// The engine is level-triggered. Each step judges every node anew of which
// anything is new, from the newest observation of its object: is it there, is it
// ours, does it hold what was last applied, is it ready. What it remembers
// besides are the digests of the inventory, and when a failed action may be
// tried again. An engine that is thrown away at any moment loses nothing but time.
//
// The rules it keeps:
//   - A node is applied when everything it needs is ready; no node waits for a
//     node that it doesn't need, and a failed one blocks only those behind it.
//   - The intent is recorded in the inventory before the first write.
//   - Nothing is written or removed that isn't the graph's own: created by it,
//     listed for adoption, or handed over by another graph.
//   - What left the graph is removed after everything is ready, in reverse
//     order, level by level. What another graph lists is handed over to it, and
//     before that: the two may wait for objects of each other.
package engine
