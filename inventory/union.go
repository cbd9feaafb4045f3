package inventory

import "slices"

// Union is what a run records before it touches anything: what the inventory
// held and what the graph desires. How an object is treated (node, wave,
// version, policy) comes from desired; what is known of it (UID, digests)
// survives from old. A key stands at most once in each of the two.
func Union(old, desired []Entry) []Entry {
	union := make([]Entry, 0, len(old)+len(desired))
	known, wanted := byKey(old), byKey(desired)
	for _, e := range desired {
		union = append(union, recall(e, known[e.Key]))
	}
	for _, e := range old {
		if _, again := wanted[e.Key]; !again {
			union = append(union, e)
		}
	}
	Sort(union)
	return union
}

// recall fills in what old knows of the object and e doesn't. An e with a UID
// of its own is another object of that name, of which old knows nothing.
func recall(e, old Entry) Entry {
	if e.UID != "" && e.UID != old.UID {
		return e
	}
	e.UID = old.UID
	if e.Desired == "" {
		e.Desired = old.Desired
	}
	if e.Live == "" {
		e.Live = old.Live
	}
	return e
}

// Without is entries without those keys.
func Without(entries []Entry, keys []Key) []Entry {
	drop := make(map[Key]bool, len(keys))
	for _, k := range keys {
		drop[k] = true
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { return drop[e.Key] })
}

// Forget makes e an intent: the object is gone, or was never made.
func (e Entry) Forget() Entry {
	e.UID, e.Desired, e.Live = "", "", ""
	return e
}
