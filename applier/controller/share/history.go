package share

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// When etcd is restored from a backup, the history of the cluster is rewritten:
// objects return to earlier versions, and the numbers of later versions and
// generations are given out again, for other contents. Everything that was known is
// void, and so is everything that was about to be done because of it.
//
// The controller notices it by the list of graphs, which follows every loss of
// their watch, see [Share.Rewritten]. In addition, each watch of objects compares
// its lists (watcher.go), because not all kinds need to have the same etcd.

// Epoch returns the number of times that the history was rewritten. What was
// learned or decided in an earlier epoch is void.
func (s *Share) Epoch() int64 { return s.epoch.Load() }

// Rewritten begins another epoch. Version is that of the list of graphs that showed
// it. Watches that know later versions begin again.
func (s *Share) Rewritten(version string) {
	s.epoch.Add(1)
	s.hub.rewind(version)
}

// Saw notes the version of an object that the API server returned to an account: a list
// that begins later and is older shows that the history was rewritten. The watch of the
// object may not be open, and so would not learn of the version by itself.
func (s *Share) Saw(a Account, gvk schema.GroupVersionKind, key inventory.Key, version string) {
	s.hub.saw(a, gvk, key, version)
}

// Hold keeps requests of graphs from being started, until it is called with false.
// It is called when the watch of graphs is lost: until they are listed again, a
// graph may have been deleted, or restored, and with it the history of the cluster.
// Requests in flight aren't affected.
func (s *Share) Hold(held bool) { s.pool.hold(held) }

// rewind makes the watches that know later versions than the given one begin again
// with a list.
func (h *hub) rewind(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watchers {
		if resourceversion.Older(version, w.newest) {
			w.newest, w.least = "", ""
			if w.again != nil {
				w.again()
			}
		}
	}
}

// saw implements [Share.Saw].
func (h *hub) saw(a Account, gvk schema.GroupVersionKind, key inventory.Key, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range []Selection{
		{GVK: gvk}, {GVK: gvk, Namespace: key.Namespace},
		scope{gvk, key.Namespace, h.sharer(a)}.shared(), {GVK: gvk, Namespace: key.Namespace, Name: key.Name, User: a.User()},
	} {
		if w := h.watchers[s]; w != nil {
			w.sawVersion(version)
		}
	}
}

// wentBack notes the version of a list, and reports whether it is older than what was
// known when the list began. The caller holds the hub's lock.
func (w *watcher) wentBack(version string) bool {
	if version == "" {
		return false // of a kind that isn't served
	}
	if resourceversion.Older(version, w.least) {
		w.newest = version
		return true
	}
	w.sawVersion(version)
	return false
}

// sawVersion notes a version that exists. The caller holds the hub's lock.
func (w *watcher) sawVersion(version string) {
	if resourceversion.Older(w.newest, version) || w.newest == "" {
		w.newest = version
	}
}
