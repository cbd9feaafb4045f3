package cache

import "sync/atomic"

// Counters count the uses of one or several caches, for metrics. The zero value is
// ready to use.
type Counters struct{ hits, misses, evictions atomic.Int64 }

// Stats are the numbers of a cache at a time.
type Stats struct {
	// Hits are the calls of Get that found the content, Misses those that downloaded
	// it, and Evictions the contents that were removed, all since the counters were
	// created.
	Hits, Misses, Evictions int64
	// Entries and SizeBytes are the number and the size of the contents on disk.
	Entries, SizeBytes int64
}

func (c *Counters) stats() Stats {
	return Stats{Hits: c.hits.Load(), Misses: c.misses.Load(), Evictions: c.evictions.Load()}
}
