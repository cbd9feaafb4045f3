package share

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// hub shares watches among graphs. A watch is opened for the first graph that
// subscribes to it and closed after the last.
type hub struct {
	own          *cluster.Client
	retryRefused time.Duration

	// wake makes run start the watchers in added. Its buffer of one holds the
	// wakeup while run is busy.
	wake chan struct{}

	mu       sync.Mutex
	watchers map[Selection]*watcher
	added    []*watcher // not started yet
	// unserved counts the watchers of kinds that the cluster doesn't serve.
	unserved      int
	subscriptions map[Graph][]*watcher
	// graphs are the subscribers by the owner that the labels of their objects name.
	graphs map[inventory.Owner]Graph
}

func newHub(own *cluster.Client, retryRefused time.Duration) *hub {
	return &hub{
		own: own, retryRefused: retryRefused, wake: make(chan struct{}, 1), watchers: map[Selection]*watcher{},
		subscriptions: map[Graph][]*watcher{}, graphs: map[inventory.Owner]Graph{},
	}
}

// run starts the watchers that are added until ctx is done, which ends them all.
func (h *hub) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
			h.startWatchers(ctx)
		}
	}
}

func (h *hub) startWatchers(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.added {
		if h.watchers[w.selection] != w {
			continue // its last subscriber left meanwhile
		}
		watching, cancel := context.WithCancel(ctx)
		w.cancel = cancel
		go w.run(watching)
	}
	h.added = nil
}

// subscribe implements [Share.Subscribe]. The graph's own objects are watched in
// all namespaces or, if that is refused, in the namespace of the object.
func (h *hub) subscribe(g Graph, a Account, client *cluster.Client, targets []engine.Target) []Selection {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.graphs[labeled(g.Owner())] = g
	wanted, unwatched := []*watcher(nil), map[Selection]bool{}
	for _, t := range targets {
		gvk := KindOf(t)
		if !t.Labeled {
			s := Selection{gvk, t.Namespace, t.Name, a.User()}
			w := h.add(s, g, client)
			if w.refused {
				unwatched[s] = true
			}
			wanted = appendNew(wanted, w)
			continue
		}
		for _, s := range []Selection{{GVK: gvk}, {GVK: gvk, Namespace: t.Namespace}} {
			w := h.add(s, g, h.own)
			// A refused watch is kept: it is tried again from time to time.
			wanted = appendNew(wanted, w)
			if !w.refused {
				break
			}
			if s.Namespace != "" || t.Namespace == "" {
				unwatched[Selection{GVK: gvk, Namespace: t.Namespace}] = true
				break
			}
		}
	}
	h.set(g, wanted)
	return slices.Collect(maps.Keys(unwatched))
}

func appendNew(list []*watcher, w *watcher) []*watcher {
	if slices.Contains(list, w) {
		return list
	}
	return append(list, w)
}

// subscribeToAccount implements [Share.SubscribeToAccount].
func (h *hub) subscribeToAccount(g Graph, a Account) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Selection{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Namespace: a.Namespace, Name: a.Name}
	h.set(g, []*watcher{h.add(s, g, h.own)})
}

// unsubscribe implements [Share.Unsubscribe].
func (h *hub) unsubscribe(g Graph) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set(g, nil)
	if owner := labeled(g.Owner()); h.graphs[owner] == g {
		delete(h.graphs, owner)
	}
}

// set ends all subscriptions of g but those to wanted. The caller holds h.mu,
// here and in the next two methods.
func (h *hub) set(g Graph, wanted []*watcher) {
	for _, w := range h.subscriptions[g] {
		if !slices.Contains(wanted, w) {
			h.removeSubscriber(w, g)
		}
	}
	if len(wanted) == 0 {
		delete(h.subscriptions, g)
		return
	}
	h.subscriptions[g] = wanted
}

// add subscribes g to a selection. It creates the watcher if there is none.
func (h *hub) add(s Selection, g Graph, client *cluster.Client) *watcher {
	w := h.watchers[s]
	if w == nil {
		w = &watcher{hub: h, selection: s, client: client, graphs: map[Graph]bool{}, owners: map[types.UID]Graph{}}
		h.watchers[s] = w
		h.added = append(h.added, w)
		select {
		case h.wake <- struct{}{}:
		default: // a wakeup is pending
		}
	}
	w.graphs[g] = true
	return w
}

func (h *hub) removeSubscriber(w *watcher, g Graph) {
	delete(w.graphs, g)
	maps.DeleteFunc(w.owners, func(_ types.UID, owner Graph) bool { return owner == g })
	if len(w.graphs) > 0 {
		return
	}
	if w.unserved {
		w.unserved = false
		h.unserved--
	}
	if w.cancel != nil {
		w.cancel()
	}
	delete(h.watchers, w.selection)
}

// watchesAll reports whether all objects of a kind that belong to graphs are
// watched, or will be as far as is known.
func (h *hub) watchesAll(gvk schema.GroupVersionKind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watchers[Selection{GVK: gvk}]
	return w != nil && !w.refused
}

// receivers returns the graphs that have to know about an object: the one that
// its labels name now and, if that is another one, the one that they named
// before. It records the current owner for the next time.
func (w *watcher) receivers(obj *unstructured.Unstructured, deleted bool) []Graph {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.selection.Name != "" {
		return slices.Collect(maps.Keys(w.graphs))
	}
	var receivers []Graph
	before, now := w.owners[obj.GetUID()], w.ownerOf(obj)
	if now != nil {
		receivers = append(receivers, now)
	}
	if before != nil && before != now {
		receivers = append(receivers, before)
	}
	if deleted || now == nil {
		delete(w.owners, obj.GetUID())
	} else {
		w.owners[obj.GetUID()] = now
	}
	return receivers
}

// ownerOf returns the graph that the labels of an object name, or nil if that
// graph is not subscribed to this watch. The caller holds the hub's lock.
func (w *watcher) ownerOf(obj *unstructured.Unstructured) Graph {
	owner, owned := inventory.OwnerOf(obj.GetLabels())
	if !owned {
		return nil
	}
	if g := w.hub.graphs[owner]; g != nil && w.graphs[g] {
		return g
	}
	return nil
}
