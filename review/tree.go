package review

import (
	"cmp"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// Tree is one side of a comparison, rendered.
type Tree struct {
	Side
	// Units are the instances, in any order. Each is there once.
	Units []Unit
	// Failures are the reasons for which parts of the side are missing, such as a module
	// that can't be loaded. The units that they concern have problems as well.
	Failures []Failure
	// Clusters are the names of the clusters that the instances are rendered for, or nil.
	Clusters []string
}

// Unit is an instance, a ResourceGraph or a plain object on one side.
type Unit struct {
	objectdiff.Instance
	// APIGroup is the API group of the kind.
	APIGroup string
	// Path is the path of the file in the repository, which both sides share.
	Path string
	// At is the position at which the document begins.
	At problem.Position
	// Nodes has the places of the graph's nodes in the module, by their ids. It may be
	// empty.
	Nodes map[string]Place
	// Graph is the rendered graph. It is nil for a plain object.
	Graph *v1alpha1.ResourceGraph
	// Objects are those of a plain manifest, and of a graph whose objects have the names of
	// their files. Those of other graphs are read from the graph.
	Objects []objectdiff.Object
	// Problems are the reasons for which there is no graph. A unit with an error is
	// unknown. Cause is the subject of the failure that they come from, if there is one.
	Problems problem.List
	Cause    string
}

// Failure is a part of a side that could not be read.
type Failure struct {
	// Subject names the part, such as "platform shop".
	Subject  string
	Problems problem.List
	// Whole is set if nothing of the side is known, and Path if nothing of that file or
	// directory is.
	// Units that the side doesn't have may then be missing for this reason. Without both,
	// the failure is the cause of units with problems.
	Whole bool
	Path  string
}

// concerns reports whether a unit that the side doesn't have may be missing because of
// the failure.
func (f *Failure) concerns(u *Unit) bool {
	return f.Whole || f.Path != "" && (f.Path == u.Path || strings.HasPrefix(u.Path, f.Path+"/"))
}

// unitKey identifies a unit on both sides.
type unitKey struct{ group, kind, namespace, name, cluster string }

// String returns the unit for messages, such as "WebService shop/web in cluster eu-1".
func (u *Unit) String() string { return u.key().String() }

func (u *Unit) key() unitKey { return unitKey{u.APIGroup, u.Kind, u.Namespace, u.Name, u.Cluster} }

// compare orders keys as a report lists instances.
func (k unitKey) compare(l unitKey) int {
	return cmp.Or(cmp.Compare(k.namespace, l.namespace), cmp.Compare(k.kind, l.kind),
		cmp.Compare(k.group, l.group), cmp.Compare(k.name, l.name), cmp.Compare(k.cluster, l.cluster))
}

// String returns the unit for messages, such as "WebService shop/web".
func (k unitKey) String() string {
	return objectdiff.Key{Kind: k.kind, Namespace: k.namespace, Name: k.name}.String() + inCluster(k.cluster)
}

// objects returns the objects of a unit.
func (u *Unit) objects() ([]objectdiff.Object, error) {
	if u.Graph == nil || u.Objects != nil {
		return u.Objects, nil
	}
	return objectdiff.FromGraph(u.Graph, "")
}

// unknown reports whether the unit has no answer.
func (u *Unit) unknown() bool { return u != nil && u.Problems.Failed() }

// inCluster follows the name of something in one of several clusters.
func inCluster(name string) string {
	if name == "" {
		return ""
	}
	return " in cluster " + name
}
