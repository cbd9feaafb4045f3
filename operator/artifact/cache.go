package artifact

import (
	"container/list"
	"sync"
)

// cache keeps the archives that were used last.
type cache struct {
	limit int

	mu    sync.Mutex // guards what follows
	size  int
	order *list.List // of *cached, the last used first
	byKey map[string]*list.Element
}

type cached struct {
	key     string
	archive []byte
}

// newCache returns a cache with a limit in bytes.
func newCache(limit int) *cache {
	return &cache{limit: limit, order: list.New(), byKey: map[string]*list.Element{}}
}

// get returns an archive, or nil.
func (c *cache) get(key string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).archive
}

// put adds an archive, which must not be larger than the limit. Archives with equal keys are equal.
func (c *cache) put(key string, archive []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(&cached{key, archive})
	for c.size += len(archive); c.size > c.limit; {
		last := c.order.Remove(c.order.Back()).(*cached)
		delete(c.byKey, last.key)
		c.size -= len(last.archive)
	}
}
