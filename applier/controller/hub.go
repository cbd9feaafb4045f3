package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// managed selects the objects of all graphs.
const managed = v1alpha1.LabelManaged + "=true"

// scope is what one watch sees: the graphs' objects of a kind, by the applier's
// own rights, or one object by name, by those of a graph's account.
type scope struct {
	gvk             schema.GroupVersionKind
	namespace, name string
	user            string
}

// hub shares watches among graphs. A watch comes with the first graph that
// needs it and goes with the last.
type hub struct {
	own   *cluster.Client
	retry time.Duration // when a watch that was refused is tried again

	mu       sync.Mutex
	ctx      context.Context
	watchers map[scope]*watcher
	missing  int                         // watchers of kinds that the cluster doesn't serve
	drivers  map[inventory.Owner]*driver // by what their objects' labels say
}

func newHub(own *cluster.Client, retry time.Duration) *hub {
	return &hub{own: own, retry: retry, watchers: map[scope]*watcher{}, drivers: map[inventory.Owner]*driver{}}
}

func (h *hub) start(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx = ctx
}

// labelled is a graph as the labels of its objects name it, which cut long names.
func labelled(o inventory.Owner) inventory.Owner {
	o.Name = v1alpha1.LabelValue(o.Name)
	return o
}

// follow sees to it that a driver is told of what happens to objects. It returns
// the scopes that can't be watched and are to be polled.
func (h *hub) follow(d *driver, held []engine.Target, client *cluster.Client) []scope {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.drivers[labelled(d.owner)] = d
	wanted, polled := []*watcher(nil), map[scope]bool{}
	for _, t := range held {
		gvk := kindOf(t)
		if !t.Labeled {
			s := scope{gvk, t.Namespace, t.Name, account{d.key.Namespace, d.account}.user()}
			w := h.join(s, d, client)
			if w.refused {
				polled[s] = true
			}
			wanted = appendNew(wanted, w)
			continue
		}
		for _, s := range []scope{{gvk: gvk}, {gvk: gvk, namespace: t.Namespace}} {
			w := h.join(s, d, h.own)
			wanted = appendNew(wanted, w)
			if !w.refused {
				break
			}
			if s.namespace != "" || t.Namespace == "" {
				polled[scope{gvk: gvk, namespace: t.Namespace}] = true
				break
			}
		}
	}
	h.only(d, wanted)
	return slices.Collect(maps.Keys(polled))
}

func appendNew(list []*watcher, w *watcher) []*watcher {
	if slices.Contains(list, w) {
		return list
	}
	return append(list, w)
}

// only ends all subscriptions of a driver but these.
func (h *hub) only(d *driver, wanted []*watcher) {
	for _, w := range d.watching {
		if !slices.Contains(wanted, w) {
			h.part(w, d)
		}
	}
	d.watching, d.awaiting = wanted, false
}

// sees says whether all objects of a kind are watched that are the graphs', or
// will be for all that is known.
func (h *hub) sees(gvk schema.GroupVersionKind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watchers[scope{gvk: gvk}]
	return w != nil && !w.refused
}

// await has a driver told when its account is made, and of nothing else.
func (h *hub) await(d *driver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := scope{gvk: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, namespace: d.key.Namespace, name: d.account}
	h.only(d, []*watcher{h.join(s, d, h.own)})
	d.awaiting = true
}

// join subscribes a driver to a scope.
func (h *hub) join(s scope, d *driver, client *cluster.Client) *watcher {
	w := h.watchers[s]
	if w == nil {
		ctx, cancel := context.WithCancel(h.ctx)
		w = &watcher{hub: h, scope: s, client: client, cancel: cancel, drivers: map[*driver]bool{}, owners: map[types.UID]*driver{}}
		h.watchers[s] = w
		go w.run(ctx)
	}
	w.drivers[d] = true
	return w
}

func (h *hub) part(w *watcher, d *driver) {
	delete(w.drivers, d)
	maps.DeleteFunc(w.owners, func(_ types.UID, owner *driver) bool { return owner == d })
	if len(w.drivers) == 0 {
		if w.missing {
			w.missing = false
			h.missing--
		}
		w.cancel()
		delete(h.watchers, w.scope)
	}
}

// leave ends all subscriptions of a driver.
func (h *hub) leave(d *driver) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.only(d, nil)
	if h.drivers[labelled(d.owner)] == d {
		delete(h.drivers, labelled(d.owner))
	}
}

// concerned are the drivers that an object is news for: that of the graph which
// its labels name, and that of the graph which they named before.
func (w *watcher) concerned(obj *unstructured.Unstructured, gone bool) []*driver {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.scope.name != "" {
		return slices.Collect(maps.Keys(w.drivers))
	}
	var told []*driver
	before := w.owners[obj.GetUID()]
	now := w.ownerOf(obj)
	if now != nil {
		told = append(told, now)
	}
	if before != nil && before != now {
		told = append(told, before)
	}
	if gone || now == nil {
		delete(w.owners, obj.GetUID())
	} else {
		w.owners[obj.GetUID()] = now
	}
	return told
}

// ownerOf is the driver of the graph that an object's labels name, if it is one
// of this watch.
func (w *watcher) ownerOf(obj *unstructured.Unstructured) *driver {
	owner, owned := inventory.OwnerOf(obj.GetLabels())
	if !owned {
		return nil
	}
	if d := w.hub.drivers[owner]; d != nil && w.drivers[d] {
		return d
	}
	return nil
}
