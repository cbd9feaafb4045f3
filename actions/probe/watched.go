package probe

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/resourceversion"
	"github.com/pequod-io/pequod/inventory"
)

// watched is the object of one Monitor. It implements [share.Graph].
type watched struct {
	name types.NamespacedName // of the Monitor
	// subject is the Monitor, the account and the object that the watch was begun for.
	subject string
	account share.Account
	client  *cluster.Client // acts as the account
	target  engine.Target
	changed func(types.NamespacedName)

	mu       sync.Mutex
	outdated bool // the subscription has to be renewed
	polled   bool // no watch works: the object is read each time
	// known is set if the watch shows object, which is nil if there is none. Version is that of the
	// object, or of the list that lacks it.
	known   bool
	object  *unstructured.Unstructured
	version string
}

// Owner implements [share.Graph].
func (of *watched) Owner() inventory.Owner {
	return inventory.Owner{Namespace: of.name.Namespace, Name: of.name.Name}
}

// Notify implements [share.Graph].
func (of *watched) Notify(o share.Observation) {
	of.mu.Lock()
	switch o.Type {
	case share.ObjectChanged:
		of.saw(o.Object, o.Object.GetResourceVersion())
	case share.ObjectDeleted:
		of.saw(nil, o.Object.GetResourceVersion())
	case share.Listed:
		var object *unstructured.Unstructured
		if len(o.Objects) > 0 {
			object = &o.Objects[0]
		}
		of.saw(object, o.Version)
	case share.AccessChanged, share.KindServed:
		of.outdated = true
	case share.KindBroken:
		of.polled = true
	case share.HistoryRewritten:
		of.known = false
	}
	of.mu.Unlock()
	of.changed(of.name)
}

// saw takes the state of the object at a version, unless a newer one is known. The caller holds the mutex.
func (of *watched) saw(object *unstructured.Unstructured, version string) {
	if of.known && resourceversion.Older(version, of.version) {
		return
	}
	if object != nil { // others have it, too
		object = object.DeepCopy()
		object.SetManagedFields(nil)
	}
	of.object, of.version, of.known = object, version, true
}

// takeOutdated reports whether the subscription has to be renewed, which the caller does.
func (of *watched) takeOutdated() bool {
	of.mu.Lock()
	defer of.mu.Unlock()
	was := of.outdated
	of.outdated = false
	return was
}

// subscribed takes notice of a subscription. If events were missed, the object is read.
func (of *watched) subscribed(unwatched, missed bool) {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.polled, of.known = unwatched, of.known && !missed
}

// current returns the object, or nil if it doesn't exist. It is read if no watch shows it.
func (of *watched) current(ctx context.Context) (*unstructured.Unstructured, error) {
	of.mu.Lock()
	object, known := of.object, of.known && !of.polled
	of.mu.Unlock()
	if known {
		return object, nil
	}
	// The account may have the right to list only.
	key := of.target.Key
	found, err := of.client.ListObjects(ctx, share.KindOf(of.target), key.Namespace, "", fields.OneTermEqualSelector("metadata.name", key.Name).String())
	if len(found) == 0 || err != nil {
		return nil, err
	}
	of.mu.Lock()
	defer of.mu.Unlock()
	of.saw(&found[0], found[0].GetResourceVersion())
	return of.object, nil
}
