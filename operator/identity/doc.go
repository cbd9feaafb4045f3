// Package identity decides as which account pequod-manager executes a graph: as the service
// account of the graph's Transform, unless the graph names an account of its own namespace.
//
// [Account] reads the account from the graph. This is safe only while nobody but the manager
// can write such graphs, which a ValidatingAdmissionPolicy ensures. [Guard] watches this
// policy; while it is missing, no graph is executed as the account of a Transform.
//
// The package makes no accounts and no roles: package roles does.
package identity
