// Package resolve fills in what a graph leaves open: late references become the
// values that their expressions yield over live objects, and generated values
// are drawn.
//
// [New] takes a graph without problems; [Resolver.Object] gives the object of a
// node as it is to be applied, [Resolver.Preview] what of it is known already,
// and [Resolver.Outputs] the outputs. An expression that reads what isn't there
// yet ends in a [WaitError], one that can't work in an [EvalError].
//
// References are found in the graph alone. What an expression yields is plain
// data, also where a live object holds a map with a key "$from".
//
// Values of Secrets go into data and stringData of other Secrets and nowhere
// else: any other object that holds them would show them in diffs and to
// everyone who may read it. Everywhere else an expression sees which keys a
// Secret has, but not their values. Errors don't quote what was read of Secrets.
//
// The package reads nothing from a cluster and knows nothing of order.
package resolve
