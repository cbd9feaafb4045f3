// Package objectdiff compares Kubernetes objects: two sets of manifests, or live
// objects with the result of an apply.
//
// [FromManifest] and [FromGraph] read [Object]s from manifests and ResourceGraphs.
// A graph yields the objects of its nodes, each with the settings of its node, and
// the graph itself without its nodes. [Compare] pairs the objects of both sides by
// group, kind, namespace and name, and returns a [Diff]: objects to add, change and
// remove, and every change of a field. It also warns of changes that the API server
// refuses and of changes that lose data.
//
// [CompareLive] compares pairs of live objects, whose field managers tell who made
// a change. [GroupsOf] groups the diffs of many instances. [Diff.Report] is the JSON form of
// a diff, and [ObjectDiff.Lines] has its lines for readers; package review prints them.
//
// The values of Secrets are masked when objects are read, before anything is
// compared. A Diff can tell whether two values are equal, but prints every value
// as ***.
//
// The files:
//
//	object.go, graph.go         read objects from manifests and graphs
//	secret.go                   masks values of Secrets
//	compare.go, live.go         compare objects; diff.go has the result
//	list_keys.go, list_align.go pair the members of lists; similarity.go helps
//	warning.go and loss.go, immutable.go, selector.go, duplicate.go
//	                            warn of the consequences of a change
//	rename.go, unit.go, class.go
//	                            find objects that were probably renamed
//	altered.go                  fields that a dry run sets to other values
//	group.go                    group the diffs of instances
//	json.go, lines.go           the forms of a diff; format_value.go and path.go have parts
//	access.go                   the parts of a diff for other packages
//
// The package reads no files and applies nothing. It does not know the schemas of
// kinds: a field that has its default value differs from a field that is not set.
package objectdiff
