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

// followed is an object that a graph follows, and the watcher that reports it.
type followed struct {
	by *watcher
	objectName
}

// The graphs that follow an object are notified of it whatever graph its labels
// name: a graph that loses an object to another one has to know, and so has the one
// that gets it, however late it joined the watch.
//
// The functions below are called with the hub's lock held.

// follows reports whether g follows an object.
func (w *watcher) follows(g Graph, name objectName) bool {
	return slices.Contains(w.followers[name], g)
}

// subscribers returns the graphs that follow any object of the watcher, as the keys of
// a map.
func (w *watcher) subscribers() map[Graph]bool {
	subscribers := map[Graph]bool{}
	for _, graphs := range w.followers {
		for _, g := range graphs {
			subscribers[g] = true
		}
	}
	return subscribers
}

// follow makes the given objects the only ones that g follows. Watchers without
// followers end.
func (h *hub) follow(g Graph, objects []followed) {
	before := h.subscriptions[g]
	if slices.Equal(before, objects) {
		return // the usual case
	}
	kept := make(map[followed]bool, len(objects))
	for _, f := range objects {
		kept[f] = true
		if !f.by.follows(g, f.objectName) {
			f.by.followers[f.objectName] = append(f.by.followers[f.objectName], g)
		}
	}
	for _, f := range before {
		if !kept[f] {
			h.unfollow(g, f)
		}
	}
	if len(objects) == 0 {
		delete(h.subscriptions, g)
	} else {
		h.subscriptions[g] = slices.Clip(objects)
	}
}

// unfollow makes g not follow an object any more, and ends a watcher without followers.
func (h *hub) unfollow(g Graph, f followed) {
	w := f.by
	left := slices.DeleteFunc(w.followers[f.objectName], func(other Graph) bool { return other == g })
	if len(left) > 0 {
		w.followers[f.objectName] = left
		return
	}
	delete(w.followers, f.objectName)
	if len(w.followers) == 0 {
		h.remove(w)
	}
}
