package inventory

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Leaving returns the entries of the inventory that the graph no longer desires,
// grouped by wave: the last wave first, each sorted by key. The result includes
// entries that are to be orphaned, and intents, whose objects may not exist.
//
// entries is the current inventory, with the UIDs of the objects that were
// applied. One object can have two entries if its kind moved to another API
// group. It is not leaving if a desired entry has its UID, or has its kind,
// namespace and name in another group and no UID yet.
//
// A recorded UID may be that of a predecessor: a run that recreated the object
// may have been killed before it recorded the new UID. An object with another UID
// therefore counts as foreign only if its labels say so too. An object that is
// known only by its labels must not be deleted if its UID is in [Kept].
func Leaving(entries, desired []Entry) [][]Entry {
	desiredSet := indexDesired(entries, desired)
	var left []Entry
	for _, e := range entries {
		if !desiredSet.has(e) && !desiredSet.mayBe(e) {
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

// Survivors returns the inventory after a prune: the desired entries, and the
// leaving entries whose objects still exist, so that a failed delete is retried.
// gone lists the objects that were deleted, found absent or released. A desired
// object that is gone desiredSet as an intent. The second entry of an object that is
// now desired by another API group is dropped.
func Survivors(entries, desired []Entry, gone []Key) []Entry {
	lost := make(map[Key]bool, len(gone))
	for _, k := range gone {
		lost[k] = true
	}
	desiredSet := indexDesired(entries, desired)
	var survivors []Entry
	for _, e := range entries {
		switch desired := desiredSet.keys[e.Key]; {
		case desired && lost[e.Key]:
			survivors = append(survivors, e.Forget())
		case desired, !lost[e.Key] && !desiredSet.has(e):
			survivors = append(survivors, e)
		}
	}
	Sort(survivors)
	return survivors
}

// Outside returns a copy of the inventory without the objects of a namespace.
func (inv *Inventory) Outside(namespace string) *Inventory {
	outside := *inv
	outside.Entries = slices.DeleteFunc(slices.Clone(inv.Entries), func(e Entry) bool { return e.Namespace == namespace })
	return &outside
}

// Kept returns the known UIDs of the desired objects. An object with one of these
// UIDs must never be deleted, whatever an entry says.
func Kept(entries, desired []Entry) map[types.UID]bool { return indexDesired(entries, desired).uids }

// desiredIndex is the desired part of an inventory, indexed in three ways.
type desiredIndex struct {
	keys map[Key]bool
	// uids never contains the empty UID.
	uids map[types.UID]bool // without the empty one
	// withoutUID has the keys, without group, of desired objects whose UID is not
	// known.
	withoutUID map[Key]bool
}

// indexDesired indexes the desired entries. UIDs come from the inventory.
func indexDesired(entries, desired []Entry) desiredIndex {
	s := desiredIndex{map[Key]bool{}, map[types.UID]bool{}, map[Key]bool{}}
	known := byKey(entries)
	for _, e := range desired {
		s.keys[e.Key] = true
		if e = recall(e, known[e.Key]); e.UID != "" {
			s.uids[e.UID] = true
		} else {
			s.withoutUID[ungrouped(e.Key)] = true
		}
	}
	return s
}

// has reports whether e is a desired object.
func (s desiredIndex) has(e Entry) bool { return s.keys[e.Key] || s.uids[e.UID] }

// mayBe reports whether e may turn out to be a desired object as soon as the UIDs
// of all desired objects are known.
func (s desiredIndex) mayBe(e Entry) bool { return s.withoutUID[ungrouped(e.Key)] }

// ungrouped returns k without its API group.
func ungrouped(k Key) Key {
	k.Group = ""
	return k
}
