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

// tombstones are the last known deletions.
type tombstones map[inventory.Key]tombstone

// bury records a deletion, unless a later one is known.
func (all tombstones) bury(key inventory.Key, t tombstone) {
	if known, ok := all[key]; ok && resourceversion.Older(t.version, known.version) {
		return
	}
	all[key] = t
}

// deleted reports whether obj is the state of an object from before its deletion.
func (all tombstones) deleted(key inventory.Key, obj *unstructured.Unstructured) bool {
	t, ok := all[key]
	return ok && (t.uid == "" || t.uid == obj.GetUID()) && resourceversion.Older(obj.GetResourceVersion(), t.version)
}
