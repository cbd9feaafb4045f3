// Package inventory records which objects a graph owns, so that objects that left
// the graph are pruned and no other object ever is.
//
// An [Inventory] is a list of entries, one per object. A run uses it in four
// steps:
//
//   - Before the first write it records its intent: the [Union] of the stored
//     inventory and the objects that the graph desires.
//   - It applies the desired objects.
//   - When all of them are ready, it deletes the objects that are [Leaving].
//   - It records the [Survivors].
//
// A run that is killed at any point therefore leaves nothing behind that the next
// run does not find. Entries are matched by kind, namespace and name, not by node
// id, wave or API version: renaming a node or moving a kind to another API group
// never deletes the object.
//
// The package is data and pure functions; it talks to no cluster. Stores use
// [Encode], [Decode], [Split] and [Join]: package configmap keeps inventories in
// ConfigMaps, and package stored in the status of the graph.
package inventory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Key identifies an object regardless of its API version. Namespace is empty for
// cluster-scoped objects.
type Key struct {
	Group, Kind, Namespace, Name string
}

// String formats the key for messages: "Deployment.apps default/web", "ConfigMap default/x", "Namespace x".
func (k Key) String() string {
	text := k.Kind
	if k.Group != "" {
		text += "." + k.Group
	}
	text += " "
	if k.Namespace != "" {
		text += k.Namespace + "/"
	}
	return text + k.Name
}

// Compare orders keys by group, kind, namespace and name.
func (k Key) Compare(other Key) int {
	return cmp.Or(
		strings.Compare(k.Group, other.Group),
		strings.Compare(k.Kind, other.Kind),
		strings.Compare(k.Namespace, other.Namespace),
		strings.Compare(k.Name, other.Name),
	)
}

// Entry is one object of a graph's inventory.
type Entry struct {
	Key
	// Version is the API version that the object is applied with.
	Version string
	// UID is empty until the object was applied. An entry without a UID is an
	// intent: the object may or may not exist.
	UID types.UID
	// Node is the id of the object's node. It is empty for an object that left
	// the graph and still has to be removed.
	Node string
	// LeavingSince is when the object left the graph, in UTC and whole seconds. It
	// is zero for objects of nodes, and if no grace period applies.
	LeavingSince time.Time
	// Wave is the position in apply order, from 0. Pruning uses the reverse
	// order.
	Wave int
	// Orphan means that the object is not deleted when it leaves the graph.
	Orphan bool
	// Create means that the object is created once and never updated.
	Create bool
	// Done means that the object was ready with the manifest of Desired, and isn't created
	// again for it: a Job that is removed after its TTL would otherwise run again.
	Done bool
	// Desired is the digest of the manifest that was applied last. It is empty
	// if nothing was applied.
	Desired string
	// Manager is the field manager that applied the object, empty for the default one.
	Manager string
	// Live is the digest of the fields that the graph owned in the live object
	// right after that. A different digest later means drift.
	Live string
}

// Inventory is the record of what one graph owns.
type Inventory struct {
	Owner Owner
	// Revision is the hash of the graph whose intent was recorded last. It is
	// empty if no intent was ever recorded or if the record was lost.
	Revision string
	// Complete means that the run of that revision finished: everything desired was
	// ready, and everything else was pruned or waits for the end of its grace period.
	Complete bool
	// Unsearched are the API groups in which objects that left the graph are still to be
	// searched by their labels, sorted. The inventory was lost, and these groups weren't
	// available when it was made again.
	Unsearched []string
	// Entries are sorted by wave and then by key. Keys are unique.
	Entries []Entry

	// Stored belongs to the store that loaded or saved the inventory. It is the
	// store's state for the next conditional write, so a copy of an inventory
	// must keep it.
	Stored any
}

// Sort sorts entries by wave and then by key, the order that an inventory keeps.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), a.Key.Compare(b.Key))
	})
}

// byKey indexes entries by their keys.
func byKey(entries []Entry) map[Key]Entry {
	index := make(map[Key]Entry, len(entries))
	for _, e := range entries {
		index[e.Key] = e
	}
	return index
}
