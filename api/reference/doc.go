// Package reference holds the rules of late references: values of a rendered
// object that are only known once other objects are live.
//
// A late reference is structure, never text. {"$from": "CEL"} stands for what
// the expression yields over the live objects of other nodes, and
// {"$generate": {...}} for a secret that is made in the cluster. No string is
// ever scanned for them, so whatever a developer or a script writes inside a
// string stays what it is.
//
// [Find] walks a decoded value and lists what it holds; [Scope.Compile] checks
// one expression against the nodes of a graph and says which of them it reads;
// [CompileReady] does the same for a readiness expression over one object.
// [Expression.Plan] makes a program of what compiled, and [Program.Eval] runs it
// over decoded objects, telling what isn't there yet ([Missing]) from what is
// wrong for good.
//
// In an expression a node is named by its id, as in service.spec.clusterIP. An
// id that isn't a CEL identifier, or that CEL has a meaning for, is reached
// through the map of all nodes: nodes["worker-high"].status.readyReplicas.
//
// The package builds no CEL environment until the first expression is
// compiled, and reads nothing from a cluster. What may be read, and what becomes
// of values from Secrets, is for its callers to decide.
package reference
