// Package probe reads the targets of Monitors: Pods, Services and addresses by requests, and
// objects by watches. Everything in the cluster is read as the service account of the Monitor.
//
// [Prober.Read] is the entry point. Requests to Pods go to their addresses, which must be in the
// networks of --monitor-networks; a Pod in the network of its node is refused. No server is
// asked by more than a few requests at once, so one that hangs doesn't hold up others.
//
// Non-goals: the package decides nothing about what it reads.
package probe
