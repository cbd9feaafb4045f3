// Package stored keeps inventories where every executor of a graph finds them: in
// the status of the ResourceGraph if there is one in the cluster, and in
// ConfigMaps (package configmap) if there is none, or if the inventory doesn't
// fit. So the command line and the applier in the cluster take over from each
// other, and no object that a graph owned is lost.
//
// [New] makes a [Store]. Its methods Load, Save, Remove and List have the same
// meaning as those of package configmap. The store writes only the inventory of a
// status. A caller that writes the rest of the status too uses [Store.SaveWith]
// and writes both in one request.
//
//	graph in the cluster   inventory   kept in
//	no                     any         ConfigMaps
//	yes                    fits        status
//	yes                    too large   ConfigMaps; the status has the count and the name
package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/configmap"
)

// Store keeps inventories. It is safe for concurrent use.
type Store struct {
	client rest.Interface
	maps   *configmap.Store
}

// New returns a store that makes its requests through client. The API group and
// the encoding that the client was made for don't matter.
func New(client rest.Interface) *Store {
	return &Store{client: client, maps: configmap.NewStore(client)}
}

// Fits reports whether an inventory is kept in a status, which holds at most
// v1alpha1.MaxInventory entries.
func Fits(inv *inventory.Inventory) bool { return len(inv.Entries) <= v1alpha1.MaxInventory }

// View returns an inventory as a status shows it: without its entries, but with
// their number and the name of the ConfigMap, if it doesn't fit.
func View(inv *inventory.Inventory) *v1alpha1.Inventory {
	s := inventory.Status(inv)
	if !Fits(inv) {
		s.Entries, s.ConfigMap = nil, configmap.Name(inv.Owner)
	}
	return s
}

// held is the stored state of an inventory when it was loaded or saved. It is the
// inventory's Stored field, and a value in that field is never changed. Later
// writes compare with it to detect changes by others.
type held struct {
	uid types.UID // of the graph, "" if there is none
	// version is the resource version of the graph, and view its
	// status.inventory, nil if it has none.
	version string
	view    *v1alpha1.Inventory
	maps    any // what package configmap holds of it
}

// heldOf returns the stored state of an inventory, or the zero value for a new
// one.
func heldOf(inv *inventory.Inventory) held {
	h, _ := inv.Stored.(held)
	return h
}

// DistantError is the error for a graph whose objects are in another cluster, see
// spec.kubeConfig: the objects in its inventory are not those that a client of this
// cluster would find under their names.
type DistantError struct {
	Owner inventory.Owner
	// Secret is the name of the Secret with the kubeconfig.
	Secret string
}

// Error returns the text that the command line prints after the program's name.
func (e *DistantError) Error() string {
	return fmt.Sprintf("graph %s: its objects are in the cluster of Secret %s (spec.kubeConfig), which only pequod-applier reaches", e.Owner, e.Secret)
}

// Refuse returns a [*DistantError] if the objects of a graph are in another cluster.
func Refuse(rg *v1alpha1.ResourceGraph) error {
	if rg.Spec.KubeConfig == nil {
		return nil
	}
	return &DistantError{inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, rg.Spec.KubeConfig.SecretRef.Name}
}

// graph has the fields of a ResourceGraph that the store reads.
type graph struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		KubeConfig *v1alpha1.KubeConfigReference `json:"kubeConfig"`
	} `json:"spec"`
	Status struct {
		Inventory *v1alpha1.Inventory `json:"inventory"`
	} `json:"status"`
}

// InStatus reports whether a status holds the whole inventory. If it doesn't,
// the inventory is in ConfigMaps or there is none.
func InStatus(view *v1alpha1.Inventory) bool { return view != nil && view.ConfigMap == "" }

// Load reads a graph's inventory. If there is none, the result is empty and has
// no revision. The error is a [*DistantError] if the objects of the graph are in another
// cluster.
func (s *Store) Load(ctx context.Context, owner inventory.Owner) (*inventory.Inventory, error) {
	rg, err := s.graph(ctx, owner)
	if err != nil {
		return nil, err
	}
	h := held{}
	if rg != nil {
		if ref := rg.Spec.KubeConfig; ref != nil {
			return nil, &DistantError{owner, ref.SecretRef.Name}
		}
		h = held{uid: rg.UID, version: rg.ResourceVersion, view: rg.Status.Inventory}
	}
	return s.load(ctx, owner, h)
}

// LoadOf is Load for a caller that has read the graph. It makes no request if
// the status holds the inventory.
//
// An identity that may not read ConfigMaps can't have saved an inventory there.
// So if the status doesn't name a ConfigMap either, the inventory is empty.
func (s *Store) LoadOf(ctx context.Context, rg *v1alpha1.ResourceGraph) (*inventory.Inventory, error) {
	owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
	h := held{uid: rg.UID, version: rg.ResourceVersion, view: rg.Status.Inventory}
	inv, err := s.load(ctx, owner, h)
	if apierrors.IsForbidden(err) && h.view == nil {
		return &inventory.Inventory{Owner: owner, Stored: h}, nil
	}
	return inv, err
}

// Index tells which graphs of a namespace have an inventory in ConfigMaps. The
// result for an identity that may not read ConfigMaps is that none has.
func (s *Store) Index(ctx context.Context, namespace string) (configmap.Index, error) {
	index, err := s.maps.Index(ctx, namespace)
	if apierrors.IsForbidden(err) {
		err = nil
	}
	return index, err
}

// None returns the inventory of a graph that has none, neither in its status nor in
// ConfigMaps. The caller has read the graph.
func None(rg *v1alpha1.ResourceGraph) *inventory.Inventory {
	owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
	return &inventory.Inventory{Owner: owner, Stored: held{uid: rg.UID, version: rg.ResourceVersion}}
}

// load returns the inventory of a graph whose status is known, and reads its
// ConfigMaps if necessary.
func (s *Store) load(ctx context.Context, owner inventory.Owner, h held) (*inventory.Inventory, error) {
	if InStatus(h.view) {
		inv := inventory.OfStatus(owner, h.view)
		inv.Stored = h
		return inv, nil
	}
	inv, err := s.maps.Load(ctx, owner)
	if err != nil {
		return nil, err
	}
	h.maps = inv.Stored
	inv.Stored = h
	return inv, nil
}

// graph reads a ResourceGraph. It returns nil if there is none that this identity
// may see: without the right to read graphs, the command line keeps inventories
// in ConfigMaps.
func (s *Store) graph(ctx context.Context, owner inventory.Owner) (*graph, error) {
	raw, err := answer(s.client.Get().AbsPath(path(owner.Namespace), owner.Name).SetHeader("Accept", "application/json").Do(ctx))
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("inventory of %s: reading the ResourceGraph: %w", owner, err)
	}
	rg := &graph{}
	if err := json.Unmarshal(raw, rg); err != nil {
		return nil, fmt.Errorf("inventory of %s: reading the ResourceGraph: %w", owner, err)
	}
	return rg, nil
}

// answer returns the body of an answer, or the error that the API server
// reported, which Result.Raw doesn't decode.
func answer(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// path returns the path of the ResourceGraphs of a namespace, or of all
// namespaces if it is empty.
func path(namespace string) string {
	if namespace == "" { // all of them
		return "/apis/" + v1alpha1.GroupVersion.String() + "/resourcegraphs"
	}
	return "/apis/" + v1alpha1.GroupVersion.String() + "/namespaces/" + namespace + "/resourcegraphs"
}

// Save writes an inventory that was loaded or saved by this store, or that is
// new. If it was saved by another process in between, the error is a
// [*configmap.ConflictError]. After any other error it is unknown whether the
// inventory was saved: call Save again.
func (s *Store) Save(ctx context.Context, inv *inventory.Inventory) error {
	h := heldOf(inv)
	if h.uid == "" {
		return s.inMaps(inv, &h, func(inv *inventory.Inventory) error { return s.maps.Save(ctx, inv) })
	}
	return s.save(ctx, inv, &h, func() error { return s.inStatus(ctx, inv, &h, View(inv)) })
}

// SaveWith is Save for a caller that writes the status of the graph itself, in
// one request with the rest of the status. writeStatus has to write View(inv) as
// status.inventory, and to make sure that no other client has changed that field.
// ConfigMaps are written before the status and removed after it, so that the
// status never refers to an inventory that doesn't exist.
func (s *Store) SaveWith(ctx context.Context, inv *inventory.Inventory, writeStatus func() error) error {
	h := heldOf(inv)
	return s.save(ctx, inv, &h, func() error {
		err := writeStatus()
		if err == nil {
			h.view = View(inv)
			inv.Stored = h
		}
		return err
	})
}

// save writes an inventory of a graph that is in the cluster. The order is that
// of SaveWith: an inventory that doesn't fit is in its ConfigMaps before the
// status names them, and an inventory that fits again is in the status before its
// ConfigMaps are removed.
func (s *Store) save(ctx context.Context, inv *inventory.Inventory, h *held, writeStatus func() error) error {
	if !Fits(inv) {
		if err := s.inMaps(inv, h, func(inv *inventory.Inventory) error { return s.maps.Save(ctx, inv) }); err != nil {
			return err
		}
	}
	if err := writeStatus(); err != nil {
		return err
	}
	if Fits(inv) && h.maps != nil {
		return s.inMaps(inv, h, func(inv *inventory.Inventory) error { return s.maps.Remove(ctx, inv) })
	}
	return nil
}

// Remove removes an inventory that was loaded or saved by this store, first from
// the status and then from the ConfigMaps.
func (s *Store) Remove(ctx context.Context, inv *inventory.Inventory) error {
	h := heldOf(inv)
	if h.uid != "" && h.view != nil {
		if err := s.inStatus(ctx, inv, &h, nil); err != nil {
			return err
		}
	}
	return s.RemoveConfigMaps(ctx, inv)
}

// RemoveConfigMaps is Remove for a graph that is being deleted: its status, and
// the inventory in it, is deleted with it.
func (s *Store) RemoveConfigMaps(ctx context.Context, inv *inventory.Inventory) error {
	h := heldOf(inv)
	return s.inMaps(inv, &h, func(inv *inventory.Inventory) error { return s.maps.Remove(ctx, inv) })
}

// inMaps calls do with the inventory as package configmap stored it, and keeps
// the stored state that do leaves, also if do fails. The caller's h gets it too.
func (s *Store) inMaps(inv *inventory.Inventory, h *held, do func(*inventory.Inventory) error) error {
	theirs := *inv
	theirs.Stored = h.maps
	err := do(&theirs)
	h.maps = theirs.Stored
	inv.Stored = *h
	return err
}

// inStatus writes the inventory of a status, unless another client has written it
// since it was loaded. Other changes of the graph don't matter: if one causes a
// conflict, the write is repeated with the new resource version, five times at
// most.
//
// A write whose answer was lost is no conflict: then the status already has the
// wanted inventory, and the next attempt writes the same again.
func (s *Store) inStatus(ctx context.Context, inv *inventory.Inventory, h *held, view *v1alpha1.Inventory) error {
	if same(h.view, view) {
		return nil
	}
	for range 5 {
		live, err := s.patch(ctx, inv.Owner, h, view)
		if err == nil {
			h.version, h.view = live.ResourceVersion, view
			inv.Stored = *h
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("inventory of %s: writing the status of its ResourceGraph: %w", inv.Owner, err)
		}
		live, err = s.graph(ctx, inv.Owner)
		switch {
		case err != nil:
			return err
		case live == nil || live.UID != h.uid || !same(live.Status.Inventory, h.view) && !same(live.Status.Inventory, view):
			return &configmap.ConflictError{Owner: inv.Owner}
		}
		h.version = live.ResourceVersion
	}
	return errors.New("inventory of " + inv.Owner.String() + ": its ResourceGraph changes faster than it can be written")
}

// patch writes status.inventory. The uid and the resource version make the API
// server refuse the write if the graph was replaced or changed. The answer has
// only the metadata of the graph.
func (s *Store) patch(ctx context.Context, owner inventory.Owner, h *held, view *v1alpha1.Inventory) (*graph, error) {
	metadata := map[string]any{"uid": h.uid, "resourceVersion": h.version}
	// A merge patch leaves fields that it doesn't name: all are named.
	body, err := json.Marshal(map[string]any{"metadata": metadata, "status": map[string]any{"inventory": whole(view)}})
	if err != nil {
		return nil, err
	}
	raw, err := answer(s.client.Patch(types.MergePatchType).AbsPath(path(owner.Namespace), owner.Name, "status").
		Param("fieldManager", "pequod").SetHeader("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1").
		Body(body).Do(ctx))
	if err != nil {
		return nil, err
	}
	live := &graph{}
	return live, json.Unmarshal(raw, live)
}

// whole returns a view as JSON in which absent fields are null, so that a merge
// patch removes them.
func whole(view *v1alpha1.Inventory) any {
	if view == nil {
		return nil
	}
	w := map[string]any{"revision": nil, "complete": nil, "count": view.Count, "configMap": nil, "unsearched": nil, "entries": nil}
	if view.Revision != "" {
		w["revision"] = view.Revision
	}
	if view.Complete {
		w["complete"] = true
	}
	if view.ConfigMap != "" {
		w["configMap"] = view.ConfigMap
	}
	if len(view.Unsearched) > 0 {
		w["unsearched"] = view.Unsearched
	}
	if len(view.Entries) > 0 {
		w["entries"] = view.Entries
	}
	return w
}

// same reports whether two views are equal as JSON. In that form nil and empty
// slices with omitempty don't differ.
func same(a, b *v1alpha1.Inventory) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// List reads all inventories of a namespace, or of all namespaces if it is empty,
// sorted by their owners. If some of them can't be read, it returns the others
// together with the error.
func (s *Store) List(ctx context.Context, namespace string) ([]*inventory.Inventory, error) {
	raw, err := answer(s.client.Get().AbsPath(path(namespace)).SetHeader("Accept", "application/json").Do(ctx))
	var list struct{ Items []graph }
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		err = nil // there are no graphs that this identity may see
	case err != nil:
		err = fmt.Errorf("inventories of namespace %s: reading the ResourceGraphs: %w", namespace, err)
	default:
		err = json.Unmarshal(raw, &list)
	}
	inStatus := map[inventory.Owner]*inventory.Inventory{}
	for _, rg := range list.Items {
		if in := rg.Status.Inventory; InStatus(in) {
			owner := inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}
			inStatus[owner] = inventory.OfStatus(owner, in)
		}
	}
	inventories, problems := s.ListConfigMaps(ctx, namespace, func(owner inventory.Owner) bool { return inStatus[owner] != nil })
	inventories = append(inventories, slices.Collect(maps.Values(inStatus))...)
	slices.SortFunc(inventories, func(a, b *inventory.Inventory) int { return strings.Compare(a.Owner.String(), b.Owner.String()) })
	return inventories, errors.Join(problems, err)
}

// ListConfigMaps reads the inventories of a namespace that are kept in
// ConfigMaps. InStatus reports whether the status of a graph holds its
// inventory: a ConfigMap that is left of such a graph is outdated, and omitted.
func (s *Store) ListConfigMaps(ctx context.Context, namespace string, inStatus func(inventory.Owner) bool) ([]*inventory.Inventory, error) {
	inventories, err := s.maps.List(ctx, namespace)
	return slices.DeleteFunc(inventories, func(inv *inventory.Inventory) bool { return inStatus(inv.Owner) }), err
}
