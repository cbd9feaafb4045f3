// Package resolve computes the parts of a graph that are unknown until it runs: it
// replaces late references by the values of their expressions, and it generates
// random values.
//
// [New] returns the [Resolver] of a valid graph. [Resolver.Object] returns the
// object of a node as it is to be applied, [Resolver.Preview] returns what is
// already known of it, and [Resolver.Outputs] returns the outputs of the graph. If
// an expression reads something that doesn't exist yet, the error is a
// [WaitError]. If an expression can't be evaluated, the error is an [EvalError].
//
// Only the graph can contain references. The value of an expression is plain data,
// even if a live object has a map with the key "$from".
//
// Values of Secrets may only go into data and stringData of other Secrets, each from
// one key into one key. In any other object they would show up in diffs and be
// readable for everyone who may read the object. Expressions see only the keys that
// they spell out, so that keys tell nothing either. Errors don't quote values of
// Secrets.
//
// The package sends no requests and doesn't know the order of nodes; the engine
// passes the live objects.
//
// The files: resolver.go evaluates one expression, and has the error types; object.go, preview.go and
// outputs.go replace references by its values; budget.go limits the effort and the
// size of values; generate.go draws random values.
package resolve
