package reference

import (
	"container/list"
	"sync"
)

// maxCached is the length in bytes of all expressions whose programs are kept. A
// program takes up to a thousand bytes for each byte of its expression.
const maxCached = 96 << 10

// cache keeps the programs of the expressions that were used last. Graphs keep
// only the text of their expressions: the memory of an applier with thousands of
// graphs does not depend on how many expressions they have, and the graphs of one
// platform share programs. An expression that was dropped is compiled again, so a
// cache changes nothing but the time. It is safe for concurrent use.
type cache struct {
	mu      sync.Mutex
	bytes   int
	entries map[string]*list.Element
	// recent has the entries, the one that was used last first.
	recent *list.List
}

// cached is an entry of a cache.
type cached struct {
	key     string
	program *Program
}

func newCache() *cache { return &cache{entries: map[string]*list.Element{}, recent: list.New()} }

// get returns the program of a key, or nil.
func (c *cache) get(key string) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	element := c.entries[key]
	if element == nil {
		return nil
	}
	c.recent.MoveToFront(element)
	return element.Value.(*cached).program
}

// put adds a program, and drops those that were not used for the longest time.
func (c *cache) put(key string, p *Program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil {
		return
	}
	c.entries[key] = c.recent.PushFront(&cached{key, p})
	c.bytes += p.expression.size()
	for c.bytes > maxCached {
		oldest := c.recent.Back()
		dropped := c.recent.Remove(oldest).(*cached)
		delete(c.entries, dropped.key)
		c.bytes -= dropped.program.expression.size()
	}
}
