// Package reference implements late references: values of a rendered object that
// are only known when other objects are live. It also compiles the CEL expressions
// of readiness checks.
//
// A late reference is a map in the place of a value. {"$from": "CEL"} is replaced by
// the result of the expression over the live objects of other nodes, and
// {"$generate": {...}} by a random value that is generated in the cluster. Strings
// are never searched for references, so the text that a developer or a script writes
// in a string stays as it is.
//
// The steps, each with its files:
//
//   - [Find] lists the late references in a decoded value (find.go, generate.go).
//   - [NodeSet.Compile] checks one expression against the nodes of a graph and returns
//     the nodes that it reads; [CompileReady] does the same for a readiness expression
//     over one object (compile.go, plan.go, cache.go, resolve.go, environment.go) within limits
//     (limits.go, budget.go, loosen.go, pattern.go). A path of fields needs no
//     compilation until it is evaluated (loosen.go). issue.go rewrites
//     CEL's error messages to one line, and bare.go has the hints for node ids that
//     are not CEL identifiers.
//   - [Variables.Compile] checks an expression over named values, for callers without a graph
//     (variables.go).
//   - [Expression.Plan] turns the expression into a program, and [Program.Eval] runs
//     it over decoded objects (evaluate.go, value.go, guard.go). Its errors distinguish values
//     that do not exist yet ([Missing]) from permanent errors (explain.go, walk.go).
//
// An expression refers to a node by its id, as in service.spec.clusterIP. An id that
// is not a CEL identifier, or that has a meaning in CEL, is a key of the map of all
// nodes: nodes["worker-high"].status.readyReplicas.
//
// The package builds a CEL environment only when an expression is compiled.
// It does not read from a cluster. Callers decide which objects an expression may
// read, and how values of Secrets are protected; [Refuse] helps them.
//
// For example, the node settings is the ConfigMap
//
//	data:
//	  host: {$from: "service.metadata.name + '.' + service.metadata.namespace"}
//
// Find returns one [From] with the path data.host. Compile returns an expression
// with the nodes [service]. When the Service web in the namespace shop is live,
// Eval returns "web.shop". Until then it returns a [*Missing] that describes
// service.
package reference
