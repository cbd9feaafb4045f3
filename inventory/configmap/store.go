// Package configmap stores inventories in ConfigMaps of their graphs' namespaces.
//
// [NewStore] returns a [Store], which can Load, Save, Remove and List. An
// inventory is one ConfigMap, the head, whose key "inventory" is readable text. A
// text that is too long for one ConfigMap is cut into parts: immutable ConfigMaps
// of their own, which the head lists with their checksums. Parts are written
// before the head and deleted after it, so that a reader sees a complete
// inventory, old or new, wherever a writer is interrupted. Parts have an owner
// reference to their head, so that the cluster deletes both together.
//
// Writes are optimistic: Save and Remove return a [*ConflictError] if the
// inventory was changed since it was read. This is not a lock: it does not decide
// which program executes a graph.
//
// A store needs the verbs get, list, create, patch and delete on ConfigMaps.
//
// Files: store.go has the types and names, request.go the HTTP requests, load.go
// reads, save.go writes texts and parts, head.go writes heads, remove.go deletes.
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
	// Keys of the data. A head has one of the first two, a part has the third.
	keyInventory = "inventory"
	keyParts     = "parts"
	keyPart      = "part"
)

// Values of the label pequod.io/inventory.
const (
	// Values of the label pequod.io/inventory.
	isHead = "true"
	isPart = "part"
)

const fieldManager = "pequod"

// annotationWrite is an annotation of heads with a random value that every write
// changes. A writer recognizes its own writes by it.
const annotationWrite = "pequod.io/inventory-write"

// partLimit is the maximum length in bytes of the text in one ConfigMap. etcd
// accepts requests up to 1.5 MiB, the API server ConfigMaps up to 1 MiB.
const partLimit = 700 << 10

// requestTimeout bounds every request, so that a server that accepts a connection
// and never answers does not block a run.
const requestTimeout = 30 * time.Second

// Store stores inventories. It is safe for concurrent use.
type Store struct {
	client rest.Interface
	// limit is partLimit; tests use less.
	limit int
	// timeout bounds each request.
	timeout time.Duration
}

// NewStore returns a store that sends its requests through client. The API group
// and the encoding that client is configured for do not matter.
func NewStore(client rest.Interface) *Store {
	return &Store{client: client, limit: partLimit, timeout: requestTimeout}
}

// ConflictError means that an inventory was saved or deleted by another writer
// since it was read. The caller must load it again and decide again.
type ConflictError struct {
	Owner inventory.Owner
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("inventory of %s: another writer has changed it since it was read", e.Owner)
}

// state is everything that a store knows about the stored form of an inventory;
// [inventory.Inventory.Stored] has it. It is immutable. The zero value means that
// nothing is stored.
type state struct {
	uid     types.UID
	version string // of the head, as the API server counts
	text    string
	parts   []part // that the head names
	own     []part // that were made for a head that isn't stored yet
	// spare are parts that no head names. They are never reused, because the
	// writer that left them may be deleting them.
	spare []part
	// tried has the marks of writes whose result is unknown, because their
	// answers were lost or were errors.
	tried []mark
}

// part is the reference of a head to one of its parts.
type part struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// storedState returns the stored state of an inventory, or the zero value for a new
// one.
func storedState(inv *inventory.Inventory) state {
	if s, ok := inv.Stored.(state); ok {
		return s
	}
	return state{}
}

// exists reports whether a head is stored.
func (s state) exists() bool { return s.uid != "" }

// headName returns the name of the head of a graph's inventory.
func headName(owner inventory.Owner) string { return Name(owner) }

// Name returns the name of the ConfigMap that is the head of a graph's inventory.
// Long graph names are shortened as they are for labels.
func Name(owner inventory.Owner) string {
	return "pequod-inventory-" + v1alpha1.LabelValue(owner.Name)
}

// partPrefix is the prefix of the names of parts. No head's name has it.
const partPrefix = "pequod-inventory."

// labelsOf returns the labels of an inventory's ConfigMap. They differ from the
// labels of the graph's objects, because an inventory is not one of them.
func labelsOf(owner inventory.Owner, role string) map[string]string {
	return map[string]string{
		v1alpha1.LabelInventory:      role,
		v1alpha1.LabelGraph:          v1alpha1.LabelValue(owner.Name),
		v1alpha1.LabelGraphNamespace: owner.Namespace,
		v1alpha1.LabelManagedBy:      v1alpha1.ManagedBy,
	}
}
