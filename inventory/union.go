package inventory

// Union returns the intent of a run, which is recorded before the run writes any
// object: the stored inventory plus the desired entries. Node, wave, version and
// policies of an entry come from desired; UID and digests from old. Keys must be
// unique in each argument.
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

// recall returns e with the UID and digests of old, the stored entry with the
// same key. If e has a UID of its own, it is another object of the same name, and
// old says nothing about it.
func recall(e, old Entry) Entry {
	if e.UID != "" && e.UID != old.UID {
		return e
	}
	e.UID = old.UID
	if e.Desired == "" {
		e.Desired, e.Done = old.Desired, old.Done
	}
	if e.Live == "" {
		e.Live = old.Live
	}
	return e
}

// Forget returns e as an intent, without UID and digests, because its object no
// longer exists or was never created.
func (e Entry) Forget() Entry {
	e.UID, e.Desired, e.Live, e.Done = "", "", "", false
	return e
}
