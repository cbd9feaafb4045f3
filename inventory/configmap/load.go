package configmap

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
)

// Load reads the inventory of a graph with one request. Without a ConfigMap it
// returns an empty inventory, without a revision. An inventory that cannot be
// read completely is an error that names the ConfigMap and the cause.
func (s *Store) Load(ctx context.Context, owner inventory.Owner) (*inventory.Inventory, error) {
	selector := fmt.Sprintf("%s,%s=%s,%s=%s", v1alpha1.LabelInventory,
		v1alpha1.LabelGraph, v1alpha1.LabelValue(owner.Name), v1alpha1.LabelGraphNamespace, owner.Namespace)
	items, err := s.list(ctx, owner.Namespace, selector)
	if err != nil {
		return nil, fmt.Errorf("inventory of %s: reading its ConfigMap: %w", owner, err)
	}
	for _, item := range items {
		if item.Name != headName(owner) {
			continue
		}
		inv, err := read(&item, partsOf(items)[item.UID])
		if err != nil {
			return nil, err
		}
		if inv.Owner != owner {
			return nil, fmt.Errorf("%s: it is the inventory of %s, not of %s", nameOf(&item), inv.Owner, owner)
		}
		return inv, nil
	}
	return &inventory.Inventory{Owner: owner}, nil
}

// Index tells which graphs of a namespace have an inventory in ConfigMaps.
type Index struct {
	heads map[string]bool // by name
	more  bool            // there are others, too
}

// maxIndex is the largest number of ConfigMaps in an [Index]. Every user of the
// namespace may create them.
const maxIndex = 500

// Index reads the names of the inventories of a namespace with one request. It is
// for callers that are about to load the inventories of many graphs, most of which
// have none.
func (s *Store) Index(ctx context.Context, namespace string) (Index, error) {
	var list metav1.PartialObjectMetadataList
	request := s.client.Get().AbsPath(path(namespace)).
		Param("labelSelector", Selector).Param("limit", strconv.Itoa(maxIndex))
	if err := s.doFor(ctx, metadataOnly, request, nil, &list); err != nil {
		return Index{}, fmt.Errorf("inventories of namespace %s: reading their ConfigMaps: %w", namespace, err)
	}
	index := Index{heads: make(map[string]bool, len(list.Items)), more: list.Continue != ""}
	for _, item := range list.Items {
		index.heads[item.Name] = true
	}
	return index, nil
}

// MayHave reports whether the graph may have an inventory in the namespace that the
// index is of. It is certain if the answer is false.
func (i Index) MayHave(owner inventory.Owner) bool { return i.more || i.heads[headName(owner)] }

// List reads all inventories of a namespace, or of all namespaces if namespace is
// empty, with one request. They are sorted by owner. Unreadable inventories are
// reported as an error; the others are returned with it.
func (s *Store) List(ctx context.Context, namespace string) ([]*inventory.Inventory, error) {
	items, err := s.list(ctx, namespace, v1alpha1.LabelInventory)
	if err != nil {
		if namespace == "" {
			return nil, fmt.Errorf("inventories of all namespaces: reading their ConfigMaps: %w", err)
		}
		return nil, fmt.Errorf("inventories of namespace %s: reading their ConfigMaps: %w", namespace, err)
	}
	var inventories []*inventory.Inventory
	var problems []error
	parts := partsOf(items)
	for _, item := range items {
		if item.Labels[v1alpha1.LabelInventory] == isPart {
			continue
		}
		inv, err := read(&item, parts[item.UID])
		if err == nil && (item.Name != headName(inv.Owner) || item.Namespace != inv.Owner.Namespace) {
			err = copied(&item, inv.Owner)
		}
		if err != nil {
			problems = append(problems, &UnreadableError{err})
			continue
		}
		inventories = append(inventories, inv)
	}
	slices.SortFunc(inventories, func(a, b *inventory.Inventory) int {
		return cmp.Or(strings.Compare(a.Owner.Namespace, b.Owner.Namespace), strings.Compare(a.Owner.Name, b.Owner.Name))
	})
	return inventories, errors.Join(problems...)
}

// UnreadableError is the error of an inventory whose content is broken. It
// concerns only the graph of that inventory.
type UnreadableError struct{ cause error }

// Error names the ConfigMap.
func (e *UnreadableError) Error() string { return e.cause.Error() }

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.cause }

// SkipUnreadable returns an error of [Store.List] without those of broken
// inventories, nil if there are no others.
func SkipUnreadable(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var others []error
		for _, err := range joined.Unwrap() {
			others = append(others, SkipUnreadable(err))
		}
		return errors.Join(others...)
	}
	if _, broken := err.(*UnreadableError); broken {
		return nil
	}
	return err
}

// partsOf returns the parts among items by the UID of the head that owns them.
func partsOf(items []corev1.ConfigMap) map[types.UID][]corev1.ConfigMap {
	parts := map[types.UID][]corev1.ConfigMap{}
	for _, item := range items {
		if item.Labels[v1alpha1.LabelInventory] != isPart {
			continue
		}
		for _, owner := range item.OwnerReferences {
			parts[owner.UID] = append(parts[owner.UID], item)
		}
	}
	return parts
}

// read assembles an inventory from its head and all parts that name the head as
// their owner.
func read(head *corev1.ConfigMap, parts []corev1.ConfigMap) (*inventory.Inventory, error) {
	s := state{uid: head.UID, version: head.ResourceVersion}
	text, inline := head.Data[keyInventory]
	list, cut := head.Data[keyParts]
	key := keyInventory
	switch {
	case inline && cut:
		return nil, fmt.Errorf("%s: it has both keys %q and %q", nameOf(head), keyInventory, keyParts)
	case cut:
		var err error
		key = keyParts
		if s.parts, err = parseParts(list); err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", nameOf(head), keyParts, err)
		}
		if text, err = join(s.parts, parts); err != nil {
			return nil, fmt.Errorf("%s: key %q: %w", nameOf(head), keyParts, err)
		}
	case !inline:
		return nil, fmt.Errorf("%s: key %q is missing", nameOf(head), keyInventory)
	}
	inv, err := inventory.Decode([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: key %q: %w", nameOf(head), key, err)
	}
	s.text = text
	for _, p := range parts {
		spare := part{p.Name, inventory.Checksum([]byte(p.Data[keyPart]))}
		if !slices.Contains(s.parts, spare) {
			s.spare = append(s.spare, spare)
		}
	}
	inv.Stored = s
	return inv, nil
}

// Selector selects the ConfigMaps that are heads: each stands for one inventory.
const Selector = v1alpha1.LabelInventory + "=" + isHead

// ErrParts means that a head doesn't hold its inventory, because it is large.
var ErrParts = errors.New("the inventory is in several ConfigMaps")

// OfHead returns the inventory that a head holds, for a reader that watches heads. It
// can't be saved. The error is [ErrParts] if [Store.Load] has to read it.
func OfHead(head *corev1.ConfigMap) (*inventory.Inventory, error) {
	if _, cut := head.Data[keyParts]; cut {
		return nil, ErrParts
	}
	inv, err := read(head, nil)
	if err == nil && (head.Name != headName(inv.Owner) || head.Namespace != inv.Owner.Namespace) {
		err = copied(head, inv.Owner)
	}
	if err != nil {
		return nil, err
	}
	inv.Stored = nil
	return inv, nil
}

// copied returns the error about a head in a place that isn't its own.
func copied(head *corev1.ConfigMap, owner inventory.Owner) error {
	return fmt.Errorf("%s: it is a copy of the inventory of %s: remove it, or its label %s", nameOf(head), owner, v1alpha1.LabelInventory)
}

// partList is the value of a head's key "parts".
type partList struct {
	Format int    `json:"format"`
	Parts  []part `json:"parts"`
}

// parseParts reads a partList and checks its format.
func parseParts(text string) ([]part, error) {
	var list partList
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	switch {
	case list.Format > inventory.Format:
		return nil, fmt.Errorf("format %d: written by a newer pequod, this one reads up to format %d", list.Format, inventory.Format)
	case list.Format < 1 || len(list.Parts) == 0:
		return nil, errors.New(`"format" or "parts" is missing`)
	}
	return list.Parts, nil
}

// join concatenates the contents of the named parts. It returns an error if a
// part is missing or does not match its checksum.
func join(names []part, parts []corev1.ConfigMap) (string, error) {
	content := map[string][]byte{}
	for _, p := range parts {
		content[p.Name] = []byte(p.Data[keyPart])
	}
	var texts [][]byte
	for _, p := range names {
		text, there := content[p.Name]
		switch {
		case !there:
			return "", fmt.Errorf("ConfigMap %s: it is missing, or its labels or owner were changed", p.Name)
		case inventory.Checksum(text) != p.SHA256:
			return "", fmt.Errorf("ConfigMap %s: key %q: it was changed", p.Name, keyPart)
		}
		texts = append(texts, text)
	}
	return string(inventory.Join(texts)), nil
}

// nameOf names a ConfigMap in error messages.
func nameOf(object *corev1.ConfigMap) string {
	return "ConfigMap " + object.Namespace + "/" + object.Name
}
