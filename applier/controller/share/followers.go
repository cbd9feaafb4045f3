package share

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// objectName names an object among those of its kind.
type objectName struct{ namespace, name string }

// nameOf returns the name of an object. The namespace of a cluster-scoped object is
// empty.
func nameOf(obj *unstructured.Unstructured) objectName {
	return objectName{obj.GetNamespace(), obj.GetName()}
}

// The graphs that follow an object are notified of it whatever graph its labels
// name: a graph that loses an object to another one has to know, and so has the one
// that gets it, however late it joined the watch.
//
// The methods below are called with the hub's lock held.

// follows reports whether g follows an object.
func (w *watcher) follows(g Graph, name objectName) bool {
	return slices.Contains(w.followers[name], g)
}

// setFollowed replaces the objects that g follows.
func (w *watcher) setFollowed(g Graph, names []objectName) {
	before := w.graphs[g]
	w.graphs[g] = names
	if slices.Equal(before, names) {
		return // the usual case
	}
	kept := make(map[objectName]bool, len(names))
	for _, name := range names {
		kept[name] = true
		if !w.follows(g, name) {
			w.followers[name] = append(w.followers[name], g)
		}
	}
	for _, name := range before {
		if kept[name] {
			continue
		}
		left := slices.DeleteFunc(w.followers[name], func(other Graph) bool { return other == g })
		if len(left) == 0 {
			delete(w.followers, name)
		} else {
			w.followers[name] = left
		}
	}
}
