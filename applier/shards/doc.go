// Package shards divides objects among the replicas of a program, so that all of them work.
//
// The objects are divided into a fixed number of shards by a hash of their UID ([Of]). Each
// shard has a Lease, and a replica works on the objects of the shards whose Leases it holds.
// [New] returns a [Replica], and [Replica.Run] makes it take its share (replica.go, plan.go).
//
// Besides those of the shards, there are two sorts of Leases:
//
//   - Each replica renews one of its own, by which the others count the replicas. It is deleted
//     at the end.
//   - The layout is a Lease whose holder is the number of shards, and which all replicas renew
//     together. A replica that divides the objects in another way, or not at all, waits until it
//     has expired: so no object is in two shards at once.
//
// All Leases expire by the clock of the replica that looks at them: when it has seen no change
// for the duration of the Lease. A replica that can't renew one of its Leases stops earlier.
//
// Non-goals: the package doesn't know what the objects are, and doesn't read them. [Work] does.
package shards
