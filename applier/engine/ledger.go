package engine

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/inventory"
)

// ledger records the objects of the graph, in memory and in the store.
//
// A write needs a recorded intent: the stored inventory must list the object
// first. Otherwise an object would be orphaned if the process is killed between
// the write and the record. The intent of a graph that was never applied may be
// implied instead, see [Options.IntentImplied].
type ledger struct {
	// entries are the objects that the graph owns or is about to create.
	entries map[inventory.Key]inventory.Entry
	// desired is the part of entries that the nodes list, in the order of the
	// graph, without UIDs.
	desired []inventory.Entry
	// provisional are the keys of the nodes whose kinds have an unknown scope. They
	// aren't part of entries, but entries that may be those of these nodes are kept.
	provisional []inventory.Key
	// saved is the inventory as it is stored.
	saved *inventory.Inventory
	// intentSaved is set if saved lists every entry that may be written, or if the
	// intent is implied.
	intentSaved bool
	// implied is set until the first Record if the intent is implied, and due is set
	// if that Record is requested without a write that needs it.
	implied, due bool
	// unmarked is set if entries of objects that left the graph may lack the time.
	unmarked bool
	// finished is set if an object has done its work that is about to be removed, and that
	// isn't recorded.
	finished bool
	// complete is set if every node is ready and everything else is pruned.
	complete bool
	// lost is set until the first Survey if there was no stored inventory. Objects
	// with the graph's labels then become entries.
	lost bool
	// empty is set if the stored inventory had no object when the run began: the graph
	// is new or was restored, or all runs so far were killed before they recorded one.
	empty bool
	// unsearched is [inventory.Inventory.Unsearched].
	unsearched []string
	record     retryState // of Record
}

// newLedger merges the stored inventory with the desired entries. Stored may be
// nil.
func newLedger(owner inventory.Owner, revision string, stored *inventory.Inventory, keys keyResolver, desired []inventory.Entry, provisional []inventory.Key) ledger {
	if stored == nil {
		stored = &inventory.Inventory{Owner: owner}
	}
	l := ledger{
		entries: make(map[inventory.Key]inventory.Entry, len(desired)), desired: desired, provisional: provisional,
		saved: stored, lost: stored.Revision == "", unmarked: true, unsearched: stored.Unsearched,
	}
	l.empty = !stored.Complete && !slices.ContainsFunc(stored.Entries, func(entry inventory.Entry) bool { return entry.UID != "" })
	recorded, rescoped := keys.rescope(stored.Entries)
	for _, entry := range inventory.Union(recorded, desired) {
		l.entries[entry.Key] = entry
	}
	// A repeated run of the same revision needs no new record.
	l.intentSaved = !l.lost && !rescoped && stored.Revision == revision && len(l.entries) == len(stored.Entries)
	// Objects that left the graph have no node any more. Other graphs may claim
	// them as soon as that is recorded, so record it before they are removed.
	left := maps.Clone(l.entries)
	for _, entry := range desired {
		delete(left, entry.Key)
	}
	for key, entry := range left {
		if entry.Node != "" && !l.reserved(key) {
			entry.Node = ""
			l.entries[key] = entry
			l.intentSaved = false
		}
	}
	return l
}

// markLeaving records that objects left the graph now, unless it is known when they
// left. A time in the future was recorded by a wrong clock. Wall is now on the wall
// clock. It reports whether it recorded anything.
func (l *ledger) markLeaving(wall time.Time) bool {
	marked := false
	for key, entry := range l.entries {
		if entry.Node == "" && (entry.LeavingSince.IsZero() || entry.LeavingSince.After(wall)) && !l.reserved(key) {
			entry.LeavingSince = inventory.Seconds(wall)
			l.entries[key], marked = entry, true
		}
	}
	l.unmarked = false
	return marked
}

// reserved reports whether an entry may be that of a node whose kind has an unknown
// scope. Such an entry is neither desired nor left over.
func (l *ledger) reserved(key inventory.Key) bool {
	return slices.ContainsFunc(l.provisional, func(p inventory.Key) bool {
		if key.Namespace == "" {
			p.Namespace = ""
		}
		return p == key
	})
}

// left returns the entries of objects that left the graph, in levels.
func (l *ledger) left(entries []inventory.Entry) [][]inventory.Entry {
	entries = slices.DeleteFunc(entries, func(entry inventory.Entry) bool { return l.reserved(entry.Key) })
	return inventory.Leaving(entries, l.desired)
}

// desire adds the intent of a node whose kind had an unknown scope.
func (l *ledger) desire(entry inventory.Entry) {
	l.desired = append(l.desired, entry)
	old, recorded := l.entries[entry.Key]
	if !recorded {
		l.entries[entry.Key], l.intentSaved = entry, false
		return
	}
	l.entries[entry.Key] = inventory.Union([]inventory.Entry{old}, []inventory.Entry{entry})[0]
	if old.Node == "" { // it may be recorded as an object that left the graph
		l.intentSaved = false
	}
}

// intends reports whether an inventory lists every desired object. Objects whose
// scope became known while the inventory was written are missing.
func (l *ledger) intends(inv *inventory.Inventory) bool {
	listed := make(map[inventory.Key]bool, len(inv.Entries))
	for _, entry := range inv.Entries {
		listed[entry.Key] = true
	}
	return !slices.ContainsFunc(l.desired, func(d inventory.Entry) bool { return !listed[d.Key] })
}

// rescope removes the namespaces from the entries of a kind that turned out to be
// cluster-scoped, see [keyResolver.rescope].
func (l *ledger) rescope(gk schema.GroupKind) {
	for key, entry := range l.entries {
		if key.Group != gk.Group || key.Kind != gk.Kind || key.Namespace == "" {
			continue
		}
		delete(l.entries, key)
		l.intentSaved = false
		if entry.Namespace = ""; l.entries[entry.Key].UID == "" {
			l.entries[entry.Key] = entry
		}
	}
}

// applied updates the entry of a node after a successful Apply.
func (l *ledger) applied(n *node, obj *unstructured.Unstructured, live string) {
	entry := l.entries[n.key]
	entry.Version, entry.UID, entry.Desired, entry.Live = n.version, obj.GetUID(), n.progress.digest, live
	entry.Done = false
	l.entries[n.key] = entry
}

// otherRunActive reports whether another run executes this revision, or was
// interrupted: its intent is recorded and its results aren't. [ModeStatus]
// attributes changes since the intent to that run.
func (l *ledger) otherRunActive() bool { return l.intentSaved && !l.saved.Complete }
