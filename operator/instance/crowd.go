package instance

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// crowd counts the instances of each namespace that wait. Those of a namespace with many come after those
// of others: a tenant with thousands of instances doesn't delay all other tenants of a platform. The zero
// value is ready to use.
type crowd struct {
	mu      sync.Mutex
	waiting map[string]map[string]bool // names, by namespace
}

const (
	// row is the number of waiting instances of a namespace that have the same priority.
	row = 10
	// lastRow is the lowest priority, which is above that of instances that are late.
	lastRow = -99
)

// join notes that an instance waits, and returns its priority.
func (c *crowd) join(key types.NamespacedName) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting = map[string]map[string]bool{}
	}
	names := c.waiting[key.Namespace]
	if names == nil {
		names = map[string]bool{}
		c.waiting[key.Namespace] = names
	}
	priority := max(lastRow, -len(names)/row)
	names[key.Name] = true
	return priority
}

// leave notes that an instance doesn't wait any more.
func (c *crowd) leave(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.waiting[key.Namespace]
	if delete(names, key.Name); len(names) == 0 {
		delete(c.waiting, key.Namespace)
	}
}
