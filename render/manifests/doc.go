// Package manifests turns a ResourceGraph into the plain objects that kubectl,
// Argo CD, Flux and kpt apply, for teams that don't run Pequod's applier.
//
// [Plain] is the entry point. Objects come in apply order: wave by wave, and
// within a wave as declared. Each says in config.kubernetes.io/depends-on what
// it waits for, save what tools that read this annotation know by themselves
// (Namespaces and definitions go before what needs them). With [ArgoCD] or
// [Flux] it also says what those need.
//
// What plain manifests can't carry is refused, node by node and all at once,
// never dropped: late references, generated values, objects that are only read,
// the apply modes Create and Adopt, readiness expressions and conditions other
// than Ready (every tool judges Ready, and Deployments, Jobs and load
// balancers), ignored fields, another field manager, and recreation of
// immutable objects, which only Flux does. Conflicts are always forced by Argo
// CD and Flux, so conflictPolicy Force is refused only where neither is named.
//
// Three things are left out, because the objects are the same without them: a
// node's timeout, since each tool has one of its own; outputs, which are status
// of the graph; and what the graph says to the applier alone, such as its
// service account. A custom object without a namespace stays without: its
// scope isn't known here, unless its definition is in the same graph.
//
// The package reads no files and prints nothing.
package manifests
