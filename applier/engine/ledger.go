package engine

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/inventory"
)

// ledger records the objects of the graph, in memory and in the store.
//
// A write needs a recorded intent: the stored inventory must list the object
// first. Otherwise an object would be orphaned if the process is killed between
// the write and the record.
type ledger struct {
	// entries are the objects that the graph owns or is about to create.
	entries map[inventory.Key]inventory.Entry
	// desired is the part of entries that the nodes list, in the order of the
	// graph, without UIDs.
	desired []inventory.Entry
	// saved is the inventory as it is stored.
	saved *inventory.Inventory
	// intentSaved is set if saved lists every entry that may be written.
	intentSaved bool
	// complete is set if every node is ready and everything else is pruned.
	complete bool
	// lost is set until the first Survey if there was no stored inventory. Objects
	// with the graph's labels then become entries.
	lost   bool
	record retryState // of Record
}

// newLedger merges the stored inventory with the desired entries. Stored may be
// nil.
func newLedger(owner inventory.Owner, revision string, stored *inventory.Inventory, desired []inventory.Entry) ledger {
	if stored == nil {
		stored = &inventory.Inventory{Owner: owner}
	}
	l := ledger{
		entries: make(map[inventory.Key]inventory.Entry, len(desired)), desired: desired,
		saved: stored, lost: stored.Revision == "",
	}
	for _, entry := range inventory.Union(stored.Entries, desired) {
		l.entries[entry.Key] = entry
	}
	// A repeated run of the same revision needs no new record.
	l.intentSaved = !l.lost && stored.Revision == revision && len(l.entries) == len(stored.Entries)
	// Objects that left the graph have no node any more. Other graphs may claim
	// them as soon as that is recorded, so record it before they are removed.
	left := maps.Clone(l.entries)
	for _, entry := range desired {
		delete(left, entry.Key)
	}
	for key, entry := range left {
		if entry.Node != "" {
			entry.Node = ""
			l.entries[key] = entry
			l.intentSaved = false
		}
	}
	return l
}

// applied updates the entry of a node after a successful Apply.
func (l *ledger) applied(n *node, obj *unstructured.Unstructured, live string) {
	entry := l.entries[n.key]
	entry.Version, entry.UID, entry.Desired, entry.Live = n.version, obj.GetUID(), n.progress.digest, live
	l.entries[n.key] = entry
}

// otherRunActive reports whether another run executes this revision, or was
// interrupted: its intent is recorded and its results aren't. [ModeStatus]
// attributes changes since the intent to that run.
func (l *ledger) otherRunActive() bool { return l.intentSaved && !l.saved.Complete }
