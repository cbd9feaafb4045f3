package catalog

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Count records the numbers of instances of a Transform that is listed, and calls the function
// of [Catalog.OnCount] if they have changed. They are dropped with the entry.
func (c *Catalog) Count(transform types.NamespacedName, counts v1alpha1.InstanceCounts) {
	c.mu.Lock()
	listed := false
	for _, e := range c.entries {
		listed = listed || e.Transform == transform
	}
	old, known := c.counts[transform]
	changed := listed && (!known || old != counts)
	if changed {
		c.counts[transform] = counts
	}
	f := c.onCount
	c.mu.Unlock()
	if changed && f != nil {
		f(transform)
	}
}

// Counts returns the numbers of instances of a Transform, or nil if they aren't known.
func (c *Catalog) Counts(transform types.NamespacedName) *v1alpha1.InstanceCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if counts, ok := c.counts[transform]; ok {
		return &counts
	}
	return nil
}

// OnCount has f called with each Transform whose numbers of instances or [Listing] have changed.
// There is one such function.
func (c *Catalog) OnCount(f func(transform types.NamespacedName)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onCount = f
}

// OnRights has f called while roles change; see [Catalog.TryForbidden]. It must be called before the catalog
// is used.
func (c *Catalog) OnRights(f func()) { c.onRights = f }

// TryForbidden has instances that were forbidden to the manager tried again: it may have got rights.
func (c *Catalog) TryForbidden() {
	if c.onRights != nil {
		c.onRights()
	}
}
