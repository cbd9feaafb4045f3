// Package inventory records what a graph owns, so that objects that left the
// graph are pruned and nothing else ever is.
//
// An [Inventory] is a list of entries, one per object. A run writes its intent
// down before it touches an object, [Union] of what the inventory held and what
// the graph desires; deletes what is [Leaving] once everything desired is
// ready; and keeps the [Survivors]. An object is the same object whatever its
// node is called, whichever wave it is in and by which API version or group it
// is reached.
//
// The package is data and pure functions: it reads no cluster and knows no
// place. [Encode], [Decode], [Split] and [Join] are for those who store an
// inventory; package configmap is one of them.
package inventory

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Key names an object whatever its version.
type Key struct {
	Group, Kind, Namespace, Name string
}

// String gives the key as errors print it: "Deployment.apps default/web",
// "ConfigMap default/x", "Namespace x".
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
	// Version is the API version that it is applied with.
	Version string
	// UID is empty until the object was applied: such an entry is an intent.
	UID types.UID
	// Node is the id of the object's node, empty for an object that left the graph.
	Node string
	// Wave is the object's position in apply order, from 0; prune goes backwards.
	Wave int
	// Orphan says that the object is left alone when it leaves the graph.
	Orphan bool
	// Create says that the object is written once and not again.
	Create bool
	// Desired is the digest of what was last applied, empty if nothing was.
	Desired string
	// Live is the digest of the live fields that are the graph's, after that.
	Live string
}

// Inventory is what one graph owns.
type Inventory struct {
	Owner Owner
	// Revision is the renderHash of the graph whose intent was recorded last;
	// it is empty where nothing ever was, or where the record was lost.
	Revision string
	// Complete says that the run of that revision ended with everything ready
	// and everything else pruned.
	Complete bool
	// Entries are sorted by wave, then key; a key stands in them once.
	Entries []Entry

	// Stored belongs to the store that the inventory was loaded from: it tells
	// what the store held then. Whoever else copies an inventory copies it too.
	Stored any
}

// Sort sorts entries as an inventory holds them.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), a.Key.Compare(b.Key))
	})
}

func byKey(entries []Entry) map[Key]Entry {
	index := make(map[Key]Entry, len(entries))
	for _, e := range entries {
		index[e.Key] = e
	}
	return index
}
