// Package cache keeps downloaded content on disk, by its digest.
//
// [Cache.Get] is the entry point: it returns the content with a digest, from the
// disk or from a function that downloads it. Any number of processes and
// goroutines may use one directory at the same time. They download each content
// once, and none of them removes what another one uses. The package knows digests
// and bytes, and nothing of registries or modules.
//
// The directory has these parts:
//
//	blobs/sha256/HEX   content whose SHA-256 is HEX; its time is that of the last use
//	records/HEX        a short text by a key, such as the digest of a tag
//	locks/HEX.lock     is locked while a process downloads HEX
//	users/NAME         the HEX that one process uses; locked until the process ends
//	tmp/NAME           content that is being written
//
// Nothing in the directory is trusted: content is compared with its digest
// whenever it is read, and is downloaded again if it differs. Files appear by a
// rename and are not synced to the disk, because a file that a power failure cut
// off is found by its digest.
//
// A directory that cannot be used never makes Get fail. The content then comes
// from the download, and the user is warned once.
package cache

import (
	"context"
	"io"
	"sync"
	"time"
)

// Options configure a [Cache].
type Options struct {
	// Dir is the directory of the cache. It is created with mode 0700 on first use.
	// "" keeps nothing.
	Dir string
	// MaxBytes is the size from which on the content that was used least recently is
	// evicted. 0 means no limit. Content in use by a process is never evicted, so the
	// cache may exceed the limit for some time.
	MaxBytes int64
	// MaxAge is the time after which unused content is evicted; 0 means never.
	MaxAge time.Duration
	// Clock returns the current time; nil is time.Now.
	Clock func() time.Time
	// Scope keeps users of one directory apart, such as namespaces of a cluster. A cache with
	// a scope finds nothing that it did not get or remember with the same scope: content that
	// only another one got is downloaded again, which shows that this one may read it.
	// All scopes share the limits. "" finds the content of all.
	Scope string
	// Warn gets the first reason for which the cache cannot be used. It may be nil.
	Warn func(error)
	// Counters count the uses of the cache. They can be shared by several caches; nil
	// counts for this cache only.
	Counters *Counters
}

// Fetch downloads content. The caller closes the reader. Reads must end soon after
// ctx does.
type Fetch = func(ctx context.Context) (io.ReadCloser, error)

// Cache is a directory of content. Get it from [Open]. It is safe for concurrent use.
type Cache struct {
	options  Options
	counters *Counters
	warning  sync.Once
	// patience is the time to wait for another process that downloads the same
	// content or evicts. After that, this process goes on by itself: the other one may
	// be stopped.
	patience time.Duration

	setup sync.Once
	store *store // nil if the directory cannot be used
	users *users // nil if store is nil
}

// Open returns the cache in the directory of o. It does not access the directory,
// which happens on first use, so that commands without downloads pay nothing.
func Open(o Options) *Cache {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	c := &Cache{options: o, counters: o.Counters, patience: time.Minute}
	if c.counters == nil {
		c.counters = &Counters{}
	}
	return c
}

// Close ends the use of all content, so that other processes may evict it. A
// process that ends need not call it. The cache must not be used afterwards.
func (c *Cache) Close() {
	if s := c.directory(); s != nil {
		c.users.close()
		s.close()
	}
}

// directory returns the store, and opens it on the first call. It returns nil if
// there is none.
func (c *Cache) directory() *store {
	c.setup.Do(func() {
		if c.options.Dir == "" {
			return
		}
		s, err := openStore(c.options.Dir)
		if err != nil {
			c.warn(err)
			return
		}
		c.store, c.users = s, &users{store: s}
	})
	return c.store
}

// warn reports that the cache cannot be used, at most once.
func (c *Cache) warn(err error) {
	c.warning.Do(func() {
		if c.options.Warn != nil {
			c.options.Warn(err)
		}
	})
}

// Get returns the content with a digest, sha256:HEX. size is its length in bytes,
// or negative if it is unknown. If the cache does not have the content, or has it
// with errors, one of all processes that want it calls fetch, and Get compares the
// result with digest and size: see [MismatchError]. Errors of fetch are returned
// as they are.
//
// The content is in use by this process until Close.
func (c *Cache) Get(ctx context.Context, digest string, size int64, fetch Fetch) ([]byte, error) {
	want, err := parse(digest, size)
	if err != nil {
		return nil, err
	}
	s := c.directory()
	if s == nil {
		c.counters.misses.Add(1)
		return want.download(ctx, fetch)
	}
	// Content that cannot be marked as in use is still good. The mark comes first, so
	// that content which is found below stays.
	c.users.add(ctx, want.hex, c.patience)
	if data, ok := c.read(s, want); ok {
		return data, want.check(data)
	}
	unlock, err := lock(ctx, s.lockFile(want.hex), c.patience)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		// Removing the file of a held lock is safe: those who wait for it, and those who
		// create another one, look for the content first.
		defer func() { s.removeLock(want.hex); unlock() }()
		if data, ok := c.read(s, want); ok {
			return data, want.check(data)
		}
	}
	c.counters.misses.Add(1)
	data, err := want.download(ctx, fetch)
	if err != nil {
		return nil, err
	}
	if err := s.write(blobs, want.hex, data, c.options.Clock()); err != nil {
		c.warn(err)
		return data, nil
	}
	if c.options.Scope != "" {
		c.Remember(grant(want), "")
	}
	c.evict(ctx, s)
	return data, nil
}

// granted reports whether content that the store has may be read with the scope of c.
func (c *Cache) granted(want content) bool {
	if c.options.Scope == "" {
		return true
	}
	_, ok := c.Recall(grant(want))
	return ok
}

// grant returns the key of the record about content that was downloaded with a scope.
func grant(want content) string { return "content " + want.hex }

// read returns the content of the store and counts it as a hit. It returns false if
// the content is missing or damaged.
func (c *Cache) read(s *store, want content) ([]byte, bool) {
	if !c.granted(want) {
		return nil, false
	}
	data, used, err := s.read(blobs, want.hex)
	if err != nil || want.verify(data) != nil {
		return nil, false
	}
	c.counters.hits.Add(1)
	s.touch(blobs, want.hex, used, c.options.Clock())
	return data, true
}

// Has reports whether the cache has content with a digest. It does not read the
// content, which may be damaged.
func (c *Cache) Has(digest string) bool {
	want, err := parse(digest, -1)
	s := c.directory()
	return err == nil && s != nil && s.has(blobs, want.hex) && c.granted(want)
}

// Evict removes content that is over the limits and not in use. Get does the same
// after each download.
func (c *Cache) Evict(ctx context.Context) {
	if s := c.directory(); s != nil {
		c.evict(ctx, s)
	}
}

// evict implements Evict. An eviction that fails is not the user's concern: the
// next download tries again.
func (c *Cache) evict(ctx context.Context, s *store) {
	limits := limits{bytes: c.options.MaxBytes, age: c.options.MaxAge, now: c.options.Clock()}
	if len(limits.excess(s, nil)) == 0 {
		return
	}
	// No process can start to use content while this one decides what is unused.
	unlock, err := lock(ctx, s.lockFile(usersLock), c.patience)
	if err != nil {
		return
	}
	defer unlock()
	for _, victim := range limits.excess(s, s.used()) {
		if s.remove(victim.part, victim.name) == nil && victim.part == blobs {
			c.counters.evictions.Add(1)
		}
	}
}

// Remember keeps a value by a key, both without line breaks. A later value replaces
// an earlier one. Values have no digest: only those that a user may lose, and that
// a command checks or merely prefers over nothing, belong here.
func (c *Cache) Remember(key, value string) {
	key = c.scoped(key)
	s := c.directory()
	if s == nil {
		return
	}
	if err := s.write(records, hexOf([]byte(key)), record(key, value), c.options.Clock()); err != nil {
		c.warn(err)
	}
}

// Recall returns the value that a process kept by key, and whether there is one.
func (c *Cache) Recall(key string) (string, bool) {
	key = c.scoped(key)
	s := c.directory()
	if s == nil {
		return "", false
	}
	name := hexOf([]byte(key))
	data, used, err := s.read(records, name)
	if err != nil {
		return "", false
	}
	value, ok := recordValue(data, key)
	if ok {
		s.touch(records, name, used, c.options.Clock())
	}
	return value, ok
}

// scoped returns the key of a record with the scope of c.
func (c *Cache) scoped(key string) string {
	if c.options.Scope == "" {
		return key
	}
	return "scope " + c.options.Scope + " " + key
}

// Stats returns the counters of the cache and what its directory holds now.
func (c *Cache) Stats() Stats {
	stats := c.counters.stats()
	if s := c.directory(); s != nil {
		for _, i := range s.list(blobs) {
			stats.Entries++
			stats.SizeBytes += i.size
		}
	}
	return stats
}
