package cache

import (
	"slices"
	"time"
)

// leftAfter is the age from which on a temporary file or a lock belongs to no
// download anymore.
const leftAfter = 24 * time.Hour

// limits are the limits of a cache at a time.
type limits struct {
	bytes int64         // 0 means no limit
	age   time.Duration // since the last use; 0 means no limit
	now   time.Time
}

// excess returns what is to be removed from a store: unused records and content that
// are too old, then the content that was used least recently until the rest fits, and
// files that killed processes have left. used has the content in use, which stays.
func (l limits) excess(s *store, used map[string]bool) []item {
	var victims []item
	content := s.list(blobs)
	slices.SortFunc(content, func(a, b item) int { return a.used.Compare(b.used) })
	var total int64
	for _, i := range content {
		total += i.size
	}
	for _, i := range content {
		if !used[i.name] && (l.expired(i) || l.bytes > 0 && total > l.bytes) {
			victims = append(victims, i)
			total -= i.size
		}
	}
	for _, i := range s.list(records) {
		if l.expired(i) {
			victims = append(victims, i)
		}
	}
	for _, i := range append(s.list(tmp), s.list(locks)...) {
		if i.name != usersLock+".lock" && l.now.Sub(i.used) > leftAfter {
			victims = append(victims, i)
		}
	}
	return victims
}

// expired reports whether an item was not used for too long.
func (l limits) expired(i item) bool { return l.age > 0 && l.now.Sub(i.used) > l.age }
