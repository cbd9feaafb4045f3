// Package manifests turns a ResourceGraph into the plain objects that kubectl,
// Argo CD, Flux and kpt apply, for teams that do not run Pequod's applier.
//
// [Plain] is the entry point. It returns objects in apply order: wave by wave,
// and within a wave in the order of declaration. Each object lists its
// dependencies in the annotation config.kubernetes.io/depends-on, except those
// that every tool which reads the annotation knows itself, such as an object's
// Namespace and a custom object's definition. With [ArgoCD] or [Flux] objects
// also have the annotations of that tool.
//
// Plain refuses everything that plain manifests can't express, for all nodes
// at once, and drops nothing silently: late references, generated values,
// objects that are only read, the apply modes Create and Adopt, readiness
// expressions and conditions other than Ready (every tool waits for Ready, and
// knows Deployments, Jobs and load balancers), ignored fields, other field
// managers, and recreation of immutable objects (only Flux does that). Argo CD
// and Flux always force conflicts, so conflictPolicy Force is refused only if
// neither is named.
//
// Three things are left out, because the objects are the same without them:
// the timeout of a node, since each tool has its own; outputs, which are
// status of the graph; and settings for the applier alone, such as the service
// account. A custom object without a namespace stays without one unless its
// definition is in the same graph, since the scope of its kind is not known
// here.
//
// The package reads no files and prints nothing. plain.go converts, refuse.go
// refuses, and dependson.go and annotate.go write annotations.
package manifests
