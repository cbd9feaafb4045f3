package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// New returns an engine that makes a cluster match a graph. Stored is the
// inventory of the graph; it is nil, or has no revision, if none is stored. The
// error of an invalid graph is an [*InvalidError].
func New(rg *v1alpha1.ResourceGraph, stored *inventory.Inventory, opts Options) (*Engine, error) {
	if opts.Mode == ModeStatus {
		opts.Prune, opts.AllowEmpty = true, true
	}
	g := graph.Read(rg)
	if problems := g.Problems(); len(problems) > 0 {
		return nil, &InvalidError{problems}
	}
	resolver, err := resolve.New(g)
	if err != nil {
		return nil, err
	}
	if opts.Mode == ModePlan {
		resolver.Unversioned()
	}
	// spec.renderHash isn't used: it doesn't change when a user edits the graph in
	// the cluster.
	revision, err := graph.RenderHash(rg.Spec.Graph)
	if err != nil {
		return nil, err
	}
	e := newEngine(inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, revision, opts)
	e.graph, e.resolver = g, resolver
	e.resumeSlice()
	keys := keyResolver{graph: g, namespace: rg.Namespace, namespaced: opts.Namespaced}
	if err := e.addNodes(rg, keys); err != nil {
		return nil, err
	}
	if err := e.readAdoption(rg, keys); err != nil {
		return nil, err
	}
	e.ledger = newLedger(e.owner, e.revision, stored, keys, e.desiredEntries(), e.nodes.provisionalKeys())
	if opts.NeverApplied && opts.IntentImplied && e.ledger.lost {
		e.ledger.implied, e.ledger.intentSaved = true, true
	}
	if len(e.nodes.all) == 0 && len(e.ledger.entries) > 0 && opts.Prune && !opts.AllowEmpty {
		return nil, ErrEmpty
	}
	return e, nil
}

// unknownRevision is the revision of a graph that is deleted after its inventory
// was lost.
const unknownRevision = "unknown"

// NewDelete returns an engine that removes every object in an inventory. It sets
// opts.Mode to [ModeDelete] unless that is [ModePlan].
func NewDelete(stored *inventory.Inventory, opts Options) *Engine {
	opts.Prune, opts.AllowEmpty = true, true
	if opts.Mode != ModePlan {
		opts.Mode = ModeDelete
	}
	e := newEngine(stored.Owner, cmp.Or(stored.Revision, unknownRevision), opts)
	e.ledger = newLedger(e.owner, e.revision, stored, keyResolver{namespaced: opts.Namespaced}, nil, nil)
	return e
}

func newEngine(owner inventory.Owner, revision string, opts Options) *Engine {
	if opts.Departures == nil {
		opts.Departures = NewDepartures(0)
	}
	managers := map[string]bool{}
	for _, manager := range opts.Managers {
		managers[manager] = true
	}
	return &Engine{
		owner: owner, opts: opts, revision: revision,
		nodes: nodeIndex{byKey: map[inventory.Key]*node{}, byID: map[string]*node{}, managers: managers},
		cache: cache{
			objects: map[inventory.Key]*observation{}, listed: map[location]string{}, tombstones: tombstones{},
			vouched: map[inventory.Key]time.Time{},
		},
	}
}

// addNodes creates the nodes and connects them.
func (e *Engine) addNodes(rg *v1alpha1.ResourceGraph, keys keyResolver) error {
	waves, err := e.graph.Waves()
	if err != nil {
		return err
	}
	all := &e.nodes
	referenced := e.resolver.Reads()
	for i := range e.graph.Nodes {
		n, err := newNode(e.graph, i, keys, rg.Spec.DeletionPolicy)
		if err != nil {
			return fmt.Errorf("node %s: %w", e.graph.Nodes[i].ID, err)
		}
		n.referenced = referenced[n.ID]
		all.byID[n.ID] = n
		all.managers[n.policy.manager] = true
		all.all = append(all.all, n)
		if _, known := keys.key(n.Object); known {
			all.byKey[n.key] = n
		} else {
			all.addUnscoped(n)
		}
	}
	for _, edge := range e.graph.Edges() {
		from, needed := all.byID[edge.Node], all.byID[edge.Needs]
		from.needs = append(from.needs, needed)
		needed.neededBy = append(needed.neededBy, from)
	}
	for wave, ids := range waves {
		for _, id := range ids {
			n := all.byID[id]
			n.wave, n.status.Wave = wave, wave
			all.ordered = append(all.ordered, n)
		}
	}
	return nil
}

// readAdoption reads spec.adopt.
func (e *Engine) readAdoption(rg *v1alpha1.ResourceGraph, keys keyResolver) error {
	adopt := rg.Spec.Adopt
	if adopt == nil {
		return nil
	}
	e.adoption.mirror = adopt.Strategy == v1alpha1.AdoptMirror
	for _, ref := range adopt.Resources {
		key, _ := keys.key(ref)
		for _, n := range e.nodes.all {
			if n.key == key {
				n.policy.listed = true
			}
		}
	}
	if adopt.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(adopt.LabelSelector)
		if err != nil {
			return fmt.Errorf("spec.adopt.labelSelector: %w", err)
		}
		// An empty selector would adopt every object.
		if !selector.Empty() {
			e.adoption.selector = selector
		}
	}
	return nil
}

// desiredEntries returns the intents of the nodes whose objects are written. Nodes
// of unknown scope are added later, see [Engine.finishDiscover].
func (e *Engine) desiredEntries() []inventory.Entry {
	entries := make([]inventory.Entry, 0, len(e.nodes.all))
	for _, n := range e.nodes.all {
		if n.unscoped == nil && e.written(n) {
			entries = append(entries, n.entry())
		}
	}
	return entries
}

// written reports whether the object of a node is written, and not only read.
func (e *Engine) written(n *node) bool {
	return !n.policy.external && !(e.adoption.mirror && n.policy.listed)
}

// addUnscoped sets the kind of a node whose scope isn't known.
func (x *nodeIndex) addUnscoped(n *node) {
	gvk := schema.GroupVersionKind{Group: n.key.Group, Version: n.version, Kind: n.key.Kind}
	i := slices.IndexFunc(x.unscoped, func(k *unscopedKind) bool { return k.GroupVersionKind == gvk })
	if i < 0 {
		i = len(x.unscoped)
		x.unscoped = append(x.unscoped, &unscopedKind{GroupVersionKind: gvk})
	}
	n.unscoped = x.unscoped[i]
}

// provisionalKeys returns the keys of the nodes of unknown scope.
func (x *nodeIndex) provisionalKeys() []inventory.Key {
	var keys []inventory.Key
	for _, n := range x.all {
		if n.unscoped != nil {
			keys = append(keys, n.key)
		}
	}
	return keys
}
