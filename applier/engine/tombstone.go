package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// tombstone records that an object was deleted. The answer to an Apply or Read that
// was executed before the deletion may arrive after the event. Without the
// tombstone it would be taken for the news of a new object, and the graph would stay
// ready although the object is gone.
//
// A watch with a label selector reports an object that lost its labels in the same
// way. The state of such an object has at least the version of the tombstone.
type tombstone struct {
	// uid is the deleted object, "" for every object of the name.
	uid     types.UID
	version string // resourceVersion of the deletion
}

// bury records a deletion, unless a later one is known.
func (c *cache) bury(key inventory.Key, t tombstone) {
	if known, ok := c.tombstones[key]; ok && resourceversion.Older(t.version, known.version) {
		return
	}
	c.tombstones[key] = t
}

// deleted reports whether obj is the state of an object from before its deletion.
func (c *cache) deleted(key inventory.Key, obj *unstructured.Unstructured) bool {
	t, ok := c.tombstones[key]
	return ok && (t.uid == "" || t.uid == obj.GetUID()) && resourceversion.Older(obj.GetResourceVersion(), t.version)
}

// outdated reports whether the answer to a Read of an object about which nothing is
// known is older than a deletion, or than a list without the object that arrived
// since the request. Such an object has to be read again.
func (e *Engine) outdated(a Action, obj *unstructured.Unstructured) bool {
	listed := e.cache.listed[locationOf(a.Key)]
	return e.cache.deleted(a.Key, obj) ||
		listed != a.listed && e.owner.Owns(obj.GetLabels()) && resourceversion.Older(obj.GetResourceVersion(), listed)
}
