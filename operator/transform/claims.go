package transform

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// claims decides between Transforms that would generate the same CRD, as long as the status of
// none names it. Without it, two goroutines could apply the CRD at the same time.
type claims struct {
	mu      sync.Mutex
	owners  map[string]types.NamespacedName
	waiting map[string][]types.NamespacedName
}

// take makes a Transform the owner of a CRD, and returns the owner. A Transform that isn't is
// returned by [claims.release] later.
func (c *claims) take(crd string, transform types.NamespacedName) (owner types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if owner, ok := c.owners[crd]; ok && owner != transform {
		c.wait(crd, transform)
		return owner
	}
	c.owners[crd] = transform
	return transform
}

// await has a Transform returned by [claims.interested] when the CRD changes. The caller
// does not hold the lock.
func (c *claims) await(crd string, transform types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wait(crd, transform)
}

// wait is await for callers that hold the lock.
func (c *claims) wait(crd string, transform types.NamespacedName) {
	if c.waiting == nil {
		c.waiting = map[string][]types.NamespacedName{}
	}
	if !slices.Contains(c.waiting[crd], transform) {
		c.waiting[crd] = append(c.waiting[crd], transform)
	}
}

// release ends all claims of a Transform but that on the CRD keep, and returns the Transforms
// that wait for one of the others.
func (c *claims) release(transform types.NamespacedName, keep string) []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	var wake []types.NamespacedName
	for crd, owner := range c.owners {
		if owner == transform && crd != keep {
			delete(c.owners, crd)
			wake = append(wake, c.waiting[crd]...)
		}
	}
	for crd, waiting := range c.waiting {
		if crd != keep {
			c.waiting[crd] = slices.DeleteFunc(waiting, func(k types.NamespacedName) bool { return k == transform })
		}
		if len(c.waiting[crd]) == 0 {
			delete(c.waiting, crd)
		}
	}
	return wake
}

// interested returns the Transforms that a CRD concerns: its owner in this process, and those
// that can't have it.
func (c *claims) interested(crd string) []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	wake := slices.Clone(c.waiting[crd])
	if owner, ok := c.owners[crd]; ok {
		wake = append(wake, owner)
	}
	return wake
}
