package share

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// hub shares watches among graphs. A watch is opened for the first graph that
// subscribes to it and closed after the last.
type hub struct {
	own          *cluster.Client
	distant      bool // see [Share.Distant]
	asAccounts   bool // see [Options.AsAccounts]
	retryRefused time.Duration
	relist       time.Duration // 0 if lists aren't repeated
	// waitingGraphs returns the number of graphs whose steps wait.
	waitingGraphs func() int
	// startingGraphs is [Options.Starting].
	startingGraphs func() int
	managed        func() string // see [Options.Managed]

	// wake makes run start the watchers in added. Its buffer of one holds the
	// wakeup while run is busy.
	wake chan struct{}

	mu       sync.Mutex
	watchers map[Selection]*watcher
	added    []*watcher // not started yet
	// unserved counts the watchers of kinds that the cluster doesn't serve.
	unserved int
	// subscriptions has the objects that each graph follows.
	subscriptions map[Graph][]followed
	references    references
}

func newHub(own *cluster.Client, retryRefused, relist time.Duration, waitingGraphs func() int) *hub {
	return &hub{
		own: own, retryRefused: retryRefused, relist: relist,
		waitingGraphs: waitingGraphs, startingGraphs: func() int { return 0 }, managed: func() string { return Managed },
		wake: make(chan struct{}, 1), watchers: map[Selection]*watcher{},
		subscriptions: map[Graph][]followed{}, references: newReferences(),
	}
}

// run starts the watchers that are added until ctx is done, which ends them all.
func (h *hub) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
			h.gather(ctx)
			for h.startWatchers(ctx) {
				select {
				case <-ctx.Done():
				case <-time.After(startPause):
				}
			}
		}
	}
}

// Watches are opened at a pace of at most startBatch per startPause: a graph may
// read many objects that others own, and each of these objects has a watch.
const (
	startBatch = 20
	startPause = 100 * time.Millisecond
)

// startWatchers starts up to startBatch of the watchers in added. It reports
// whether others are left.
func (h *hub) startWatchers(ctx context.Context) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	batch := h.added[:min(startBatch, len(h.added))]
	for _, w := range batch {
		if h.watchers[w.selection] != w {
			continue // its last subscriber left meanwhile
		}
		watching, cancel := context.WithCancel(ctx)
		w.cancel = cancel
		go w.run(watching)
	}
	if h.added = h.added[len(batch):]; len(h.added) == 0 {
		h.added = nil
	}
	return h.added != nil && ctx.Err() == nil
}

// subscribe implements [Share.Subscribe]. The graph's own objects are watched in
// all namespaces or, if that is refused, in the namespace of the object.
func (h *hub) subscribe(g Graph, a Account, client *cluster.Client, targets []engine.Target) (unwatched []Selection, missed []inventory.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	wanted, refused := make([]followed, 0, len(targets)), map[Selection]bool{}
	follow := func(w *watcher, t engine.Target) {
		names := h.namesOf(t)
		if w.listed && !w.follows(g, names[0]) {
			missed = append(missed, t.Key)
		}
		for _, name := range names {
			wanted = append(wanted, followed{w, name})
		}
	}
	for _, p := range h.references.set(g, h.sharer(a), targets) {
		h.references.notify(g, p, Observation{Type: AccessChanged})
	}
	for _, t := range targets {
		gvk := KindOf(t)
		if !t.Labeled {
			if w := h.sharedWatcher(a, client, t); w != nil {
				follow(w, t)
				if !w.refused {
					continue
				}
			}
			s := Selection{GVK: gvk, Namespace: t.Namespace, Name: t.Name, User: a.User()}
			w := h.watcher(s, client)
			if w.refused {
				refused[s] = true
			}
			follow(w, t)
			continue
		}
		for _, s := range []Selection{{GVK: gvk}, {GVK: gvk, Namespace: t.Namespace}} {
			w := h.watcher(s, h.own)
			// A refused watch is kept: it is tried again from time to time.
			follow(w, t)
			if !w.refused {
				break
			}
			if s.Namespace != "" || t.Namespace == "" {
				refused[Selection{GVK: gvk, Namespace: t.Namespace}] = true
				break
			}
		}
	}
	h.follow(g, wanted)
	return slices.Collect(maps.Keys(refused)), missed
}

// sharedWatcher returns the watcher that a target shares with others, or nil if it is
// to be watched by name.
func (h *hub) sharedWatcher(a Account, client *cluster.Client, t engine.Target) *watcher {
	p, ok := scopeOf(h.sharer(a), t)
	if !ok || !h.references.share(p, h.watchers[p.shared()] != nil) {
		return nil
	}
	if !h.asAccounts {
		client = h.own
	}
	return h.watcher(p.shared(), client)
}

// sharer returns the user that has the shared watches for the graphs of an account.
func (h *hub) sharer(a Account) string {
	if h.asAccounts {
		return a.User()
	}
	return ""
}

// namesOf returns the names under which watches may report a target. If the scope
// of its kind isn't known, these are two: the engine assumed a namespace.
func (h *hub) namesOf(t engine.Target) []objectName {
	if t.Namespace != "" && h.own != nil {
		kind, known := h.own.Kinds().Cached(KindOf(t))
		switch {
		case known && !kind.Namespaced:
			return []objectName{{"", t.Name}}
		case !known:
			return []objectName{{t.Namespace, t.Name}, {"", t.Name}}
		}
	}
	return []objectName{{t.Namespace, t.Name}}
}

// subscribeToAccount implements [Share.SubscribeToAccount].
func (h *hub) subscribeToAccount(g Graph, a Account) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Selection{GVK: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, Namespace: a.Namespace, Name: a.Name}
	h.follow(g, []followed{{h.watcher(s, h.own), objectName{a.Namespace, a.Name}}})
}

// unsubscribe implements [Share.Unsubscribe].
func (h *hub) unsubscribe(g Graph) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follow(g, nil)
	h.references.set(g, "", nil)
}

// watcher returns the watcher of a selection. It creates one if there is none. The
// caller holds h.mu, here and in remove.
func (h *hub) watcher(s Selection, client *cluster.Client) *watcher {
	w := h.watchers[s]
	if w == nil {
		w = &watcher{hub: h, selection: s, client: client, request: s.Request(h.managed()), followers: map[objectName][]Graph{}}
		h.watchers[s] = w
		h.added = append(h.added, w)
		select {
		case h.wake <- struct{}{}:
		default: // a wakeup is pending
		}
	}
	return w
}

// remove ends a watcher without followers.
func (h *hub) remove(w *watcher) {
	if w.unserved {
		w.unserved = false
		h.unserved--
	}
	if w.cancel != nil {
		w.cancel()
	}
	w.firstListed(false)
	delete(h.watchers, w.selection)
}

// reselect implements [Share.Reselect].
func (h *hub) reselect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watchers {
		if w.again != nil && w.reselected() {
			w.again()
		}
	}
}

// waiting implements watches.
func (h *hub) waiting() int { return h.waitingGraphs() }

// watchesAll reports whether all objects of a kind that belong to graphs are
// watched, or will be as far as is known.
func (h *hub) watchesAll(gvk schema.GroupVersionKind) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watchers[Selection{GVK: gvk}]
	return w != nil && !w.refused
}
