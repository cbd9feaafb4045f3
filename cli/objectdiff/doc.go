// Package objectdiff says what would change in a cluster if one set of
// Kubernetes objects took the place of another: descriptions with descriptions,
// or live objects with what an apply would make of them.
//
// [FromManifest] and [FromGraph] make [Object]s of manifests and of
// ResourceGraphs; a graph stands for the objects of its nodes, with the way in
// which they are looked after, and for its own settings. [Compare] pairs objects
// by group, kind, namespace and name and gives a [Diff]: objects to add, change
// and remove, each change at a path as kubectl's users write them, and
// warnings of what the API server refuses to change in place and of what is
// lost for good. [CompareLive] compares objects of a cluster that are paired
// already, and knows who changed them. [WriteText], [WriteJSON] and [WriteMarkdown] print it.
//
// Values of Secrets are hidden when objects are made, before anything is
// compared: what a Diff holds of them prints as *** in every format, and can
// only be told equal or not.
//
// The package reads no files and applies nothing. It doesn't know the schemas of
// kinds: a field that is written out with its default differs from one that is
// left out.
package objectdiff
