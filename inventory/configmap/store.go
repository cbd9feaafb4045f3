// Package configmap keeps inventories in ConfigMaps of their graphs' namespaces.
//
// [NewStore] makes a [Store]; Load, Save, Remove and List are what it does. An
// inventory is one ConfigMap, the head, whose key "inventory" is text that a
// human can read. What is too long for one is cut into parts, ConfigMaps of
// their own, which never change and which the head names with their checksums.
// Parts are written before the head and removed after it, so that a reader sees
// a whole inventory, the old or the new one, wherever a writer ends. The cluster
// removes parts with their head, which they name as their owner.
//
// Nobody writes over what another wrote since it was read: Save and Remove end
// in a [*ConflictError] then. It is no lock: who runs a graph, and for how long,
// is not decided here.
//
// A store needs to get, list, create, patch and delete ConfigMaps.
package configmap

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Keys of the data: a head has one of the first two, a part has the third.
const (
	keyInventory = "inventory"
	keyParts     = "parts"
	keyPart      = "part"
)

// Values of the label pequod.io/inventory.
const (
	isHead = "true"
	isPart = "part"
)

const fieldManager = "pequod"

// annotationWrite holds a random text on a head, another with every change, by
// which a writer knows what it wrote itself.
const annotationWrite = "pequod.io/inventory-write"

// partLimit is how many bytes of text a ConfigMap holds at most. etcd takes
// requests up to 1.5 MiB, the API server ConfigMaps up to 1 MiB.
const partLimit = 700 << 10

// requestTimeout bounds how long a server that doesn't answer is waited for.
const requestTimeout = 30 * time.Second

// Store keeps inventories. It is safe for concurrent use.
type Store struct {
	client rest.Interface
	limit  int
	// timeout bounds each request.
	timeout time.Duration
}

// NewStore is a store that makes its requests through client, whichever API
// group and encoding that was made for.
func NewStore(client rest.Interface) *Store {
	return &Store{client: client, limit: partLimit, timeout: requestTimeout}
}

// ConflictError says that an inventory was saved or removed by somebody else
// since it was read. Read it again, and decide again.
type ConflictError struct {
	Owner inventory.Owner
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("inventory of %s: somebody else has changed it since it was read", e.Owner)
}

// held is what the store held of an inventory when it was loaded or saved; it
// is the inventory's Stored, and never changed. The zero value is that of an
// inventory that isn't stored.
type held struct {
	uid     types.UID
	version string // of the head, as the API server counts
	text    string
	parts   []part // that the head names
	own     []part // that were made for a head that isn't stored yet
	// spare are parts that nobody names. They aren't used again: who left them
	// may be removing them.
	spare []part
	// tried tells what was sent as head and may be stored or not, since the
	// answer was lost or an error.
	tried []mark
}

// part is a part as the head names it.
type part struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

func heldOf(inv *inventory.Inventory) held {
	if h, ok := inv.Stored.(held); ok {
		return h
	}
	return held{}
}

func (h held) exists() bool { return h.uid != "" }

// headName is the name of a graph's head. Names that are over 63 characters are
// cut as they are for labels.
func headName(owner inventory.Owner) string { return Name(owner) }

// Name is the name of the ConfigMap that is the head of an inventory.
func Name(owner inventory.Owner) string {
	return "pequod-inventory-" + v1alpha1.LabelValue(owner.Name)
}

// partPrefix begins the names of parts, which no head's name begins with.
const partPrefix = "pequod-inventory."

// labelsOf are not those of a graph's objects, which its inventory isn't one of.
func labelsOf(owner inventory.Owner, role string) map[string]string {
	return map[string]string{
		v1alpha1.LabelInventory:      role,
		v1alpha1.LabelGraph:          v1alpha1.LabelValue(owner.Name),
		v1alpha1.LabelGraphNamespace: owner.Namespace,
		v1alpha1.LabelManagedBy:      v1alpha1.ManagedBy,
	}
}
