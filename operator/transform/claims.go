package transform

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// claims decides between Transforms that would generate the same CRD, as long as the status of
// none names it. Without it, two goroutines could apply the CRD at the same time.
type claims struct {
	mu     sync.Mutex
	owners map[string]types.NamespacedName
	// waiting are the Transforms that wait for the owner of a CRD, and watching those that only
	// a change of the CRD concerns.
	waiting, watching waiters
}

// waiters are Transforms by the CRD that they wait for.
type waiters map[string][]types.NamespacedName

// add adds a Transform, unless it is there.
func (w waiters) add(crd string, transform types.NamespacedName) {
	if !slices.Contains(w[crd], transform) {
		w[crd] = append(w[crd], transform)
	}
}

// remove removes a Transform from all CRDs but keep.
func (w waiters) remove(transform types.NamespacedName, keep string) {
	for crd, waiting := range w {
		if crd != keep {
			w[crd] = slices.DeleteFunc(waiting, func(k types.NamespacedName) bool { return k == transform })
		}
		if len(w[crd]) == 0 {
			delete(w, crd)
		}
	}
}

// newClaims returns claims without owners.
func newClaims() claims {
	return claims{owners: map[string]types.NamespacedName{}, waiting: waiters{}, watching: waiters{}}
}

// take makes a Transform the owner of a CRD, and returns the owner. A Transform that isn't is
// returned by [claims.release] later.
func (c *claims) take(crd string, transform types.NamespacedName) (owner types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if owner, ok := c.owners[crd]; ok && owner != transform {
		c.waiting.add(crd, transform)
		return owner
	}
	c.owners[crd] = transform
	return transform
}

// await has a Transform returned by [claims.release] when the owner of the CRD gives it up, and by
// [claims.interested] when the CRD changes.
func (c *claims) await(crd string, transform types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting.add(crd, transform)
}

// watch has a Transform returned by [claims.interested] when the CRD changes, and not by
// [claims.release]: two Transforms that can't have a CRD would wake each other forever.
func (c *claims) watch(crd string, transform types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching.add(crd, transform)
}

// release ends all claims of a Transform but that on the CRD keep, and returns the Transforms
// that wait for one of the others. They don't wait any more.
func (c *claims) release(transform types.NamespacedName, keep string) []types.NamespacedName {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting.remove(transform, keep)
	c.watching.remove(transform, keep)
	var wake []types.NamespacedName
	for crd, owner := range c.owners {
		if owner == transform && crd != keep {
			delete(c.owners, crd)
			wake = append(wake, c.waiting[crd]...)
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
	wake := slices.Concat(c.waiting[crd], c.watching[crd])
	if owner, ok := c.owners[crd]; ok {
		wake = append(wake, owner)
	}
	return wake
}
