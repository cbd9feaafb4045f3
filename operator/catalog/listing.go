package catalog

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Listing tells whether the instances of a platform are listed and watched.
type Listing struct {
	// Err is the reason why they aren't, or nil.
	Err error
	// Since is the time since which no request has succeeded, if Err is set.
	Since time.Time
}

// errNotListed is the error of a platform whose instances were not listed yet.
var errNotListed = errors.New("the instances were not listed yet")

// Listed records whether the instances of a Transform could be listed and watched the last time,
// and calls the function of [Catalog.OnCount] if that has changed. It is dropped with the entry.
func (c *Catalog) Listed(transform types.NamespacedName, err error) {
	c.mu.Lock()
	old, known := c.listings[transform]
	changed := known && (old.Err == nil) != (err == nil) || err != nil && old.Err != nil && err.Error() != old.Err.Error()
	if changed {
		if old.Err == nil {
			old.Since = time.Now()
		}
		old.Err = err
		c.listings[transform] = old
	}
	f := c.onCount
	c.mu.Unlock()
	if changed && f != nil {
		f(transform)
	}
}

// Listing returns whether the instances of a Transform are listed.
func (c *Catalog) Listing(transform types.NamespacedName) Listing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listings[transform]
}
