package share

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
)

// Objects that don't carry the labels of their graph, such as external references,
// are watched one by one, as the graph's account. From sharedFrom of them on, all
// those of a kind and namespace share one watch of the whole namespace, if the
// applier may watch the kind itself. It serves the graphs of all accounts: none
// learns from it more than that an object changed, unless its account has just read
// the object, see [engine.Options.ReadTrust].
//
// A program without rights of its own shares such a watch for each account instead, with
// the rights of that account, see [Options.AsAccounts].
//
// Secrets never share a watch: the applier would see the values of all Secrets of
// the namespace. Nor do objects that the account could not read: graphs could make the
// applier watch any namespace otherwise.

// sharedFrom is the number of objects of a kind and namespace from which on they
// share a watch. It is kept until fewer than half of them are left.
const sharedFrom = 10

// scope is a kind and namespace, "" for a cluster-scoped kind.
type scope struct {
	gvk       schema.GroupVersionKind
	namespace string
	user      string // who watches it; "" is the program itself
}

// shared returns the selection of the watch that the objects share.
func (p scope) shared() Selection {
	return Selection{GVK: p.gvk, Namespace: p.namespace, User: p.user, All: true}
}

// scopeOf returns the scope of a target that a user watches, and reports whether its
// objects may share a watch.
func scopeOf(user string, t engine.Target) (scope, bool) {
	return scope{KindOf(t), t.Namespace, user}, !t.Labeled && !t.Unreadable && (t.Group != "" || t.Kind != "Secret")
}

// references counts the objects that graphs follow by name.
type references struct {
	of    map[Graph]map[scope]int
	total map[scope]int
}

func newReferences() references {
	return references{of: map[Graph]map[scope]int{}, total: map[scope]int{}}
}

// set replaces the references of a graph. It returns the scopes that have reached
// sharedFrom by it.
func (r references) set(g Graph, user string, targets []engine.Target) (reached []scope) {
	now := map[scope]int{}
	for _, t := range targets {
		if p, ok := scopeOf(user, t); ok {
			now[p]++
		}
	}
	before := r.of[g]
	for p, n := range before {
		if r.total[p] -= n; r.total[p] == 0 {
			delete(r.total, p)
		}
	}
	delete(r.of, g)
	for p, n := range now {
		r.total[p] += n
		if r.total[p] >= sharedFrom && r.total[p]-n+before[p] < sharedFrom {
			reached = append(reached, p)
		}
	}
	if len(now) > 0 {
		r.of[g] = now
	}
	return reached
}

// share reports whether the objects of a scope share a watch. Open is set if there
// is one.
func (r references) share(p scope, open bool) bool {
	return r.total[p] >= sharedFrom || open && r.total[p] >= sharedFrom/2
}

// notify notifies the graphs besides g that follow objects of a scope by name.
func (r references) notify(g Graph, p scope, o Observation) {
	for other, scopes := range r.of {
		if other != g && scopes[p] > 0 {
			other.Notify(o)
		}
	}
}
