package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Leaving is what the inventory holds and the graph doesn't desire: wave by
// wave, the last one first, each sorted by key. It includes entries that are to
// be orphaned, and intents, of which nobody knows whether they came to be.
//
// entries is the inventory as it is now, with the UIDs of what was applied. One
// object can have two entries, where its kind moved to another group: it
// doesn't leave if what is desired has its UID, or has its kind, namespace and
// name in another group and no UID yet.
//
// A UID that is recorded can be that of a predecessor: a run that made the
// object anew may have been killed before it wrote that down. So an object with
// another UID isn't a stranger's before its labels say so; and an object that is
// known by its labels alone isn't deleted if its UID is [Kept].
func Leaving(entries, desired []Entry) [][]Entry {
	stays := staying(entries, desired)
	var left []Entry
	for _, e := range entries {
		if !stays.has(e) && !stays.mayBe(e) {
			left = append(left, e)
		}
	}
	Sort(left)
	var waves [][]Entry
	for _, e := range left {
		last := len(waves) - 1
		if last < 0 || waves[last][0].Wave != e.Wave {
			waves = append(waves, nil)
			last++
		}
		waves[last] = append(waves[last], e)
	}
	slices.Reverse(waves)
	return waves
}

// Survivors is the inventory after a prune: what is desired, and whatever
// leaves and isn't gone yet, so that a delete that failed is tried again. gone
// is what was deleted, seen absent or released. A desired object that is gone
// stays as an intent. A second entry of an object that is desired by another
// group is dropped.
func Survivors(entries, desired []Entry, gone []Key) []Entry {
	lost := make(map[Key]bool, len(gone))
	for _, k := range gone {
		lost[k] = true
	}
	stays := staying(entries, desired)
	var survivors []Entry
	for _, e := range entries {
		switch desired := stays.keys[e.Key]; {
		case desired && lost[e.Key]:
			survivors = append(survivors, e.Forget())
		case desired, !lost[e.Key] && !stays.has(e):
			survivors = append(survivors, e)
		}
	}
	Sort(survivors)
	return survivors
}

// Kept are the UIDs of the objects that are desired, as far as they are known.
// Whatever an entry says, nothing with one of them is deleted.
func Kept(entries, desired []Entry) map[types.UID]bool { return staying(entries, desired).uids }

// stayers tells what of an inventory is desired.
type stayers struct {
	keys map[Key]bool
	uids map[types.UID]bool // without the empty one
	// unmade are kind, namespace and name of what is desired and has no UID.
	unmade map[Key]bool
}

func staying(entries, desired []Entry) stayers {
	s := stayers{map[Key]bool{}, map[types.UID]bool{}, map[Key]bool{}}
	known := byKey(entries)
	for _, e := range desired {
		s.keys[e.Key] = true
		if e = recall(e, known[e.Key]); e.UID != "" {
			s.uids[e.UID] = true
		} else {
			s.unmade[ungrouped(e.Key)] = true
		}
	}
	return s
}

// has says whether e is an object that is desired.
func (s stayers) has(e Entry) bool { return s.keys[e.Key] || s.uids[e.UID] }

// mayBe says whether e could prove to be one once all of them have a UID.
func (s stayers) mayBe(e Entry) bool { return s.unmade[ungrouped(e.Key)] }

func ungrouped(k Key) Key {
	k.Group = ""
	return k
}
