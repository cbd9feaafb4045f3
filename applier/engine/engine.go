package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// Engine executes one graph. It isn't safe for use by several goroutines.
type Engine struct {
	owner    inventory.Owner
	opts     Options
	graph    *graph.Graph
	resolver *resolve.Resolver
	selector labels.Selector // of objects that may be adopted; nil for none
	mirror   bool            // what may be adopted is only watched
	revision string

	nodes []*node
	order []*node // each after everything that it needs
	byKey map[inventory.Key]*node
	byID  map[string]*node
	// managers are the field managers that nodes name.
	managers map[string]bool

	world      map[inventory.Key]*observed
	listed     map[place]string // the version of the newest listing
	entries    map[inventory.Key]inventory.Entry
	wanted     []inventory.Entry // the part of entries that the graph lists
	leaving    [][]*leaver       // nil until everything is ready
	leavers    map[inventory.Key]*leaver
	level      int               // of leaving, the first that isn't gone
	pruning    bool              // everything was ready, once
	handedOver bool              // what other graphs list
	claims     *inventory.Claims // nil until asked
	claimed    time.Time         // when that was answered

	// lost says that there was no inventory: what carries the graph's labels
	// makes a new one.
	lost     bool
	saved    *inventory.Inventory
	intent   bool // is recorded
	complete bool // everything is ready and pruned
	record   failureState
	asked    failureState // for the claims of others
	survey   failureState
	surveyed bool
	stop     error

	unexplained []*node // that a cause is to be looked for
	explained   explanations

	// Of the step under way.
	now     time.Time
	actions []Action
	wake    time.Time
	held    bool // a write waits for the record of the intent
	flying  int  // actions that weren't answered yet
}

// InvalidError says what is wrong with a graph.
type InvalidError struct{ Problems []graph.Problem }

func (e *InvalidError) Error() string {
	errs := make([]error, len(e.Problems))
	for i, p := range e.Problems {
		errs[i] = errors.New(p.String())
	}
	return errors.Join(errs...).Error()
}

// ErrEmpty refuses a graph without nodes, which would remove everything.
var ErrEmpty = errors.New("the graph has no nodes, and would remove everything that it holds")

// New returns the engine that makes a cluster match a graph. Stored is the
// graph's inventory, nil or without a revision if there is none. A graph that isn't sound is an
// [*InvalidError].
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
	// Of a graph that was edited by hand, renderHash says what it was.
	revision, err := graph.RenderHash(rg.Spec.Graph)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		owner: inventory.Owner{Namespace: rg.Namespace, Name: rg.Name},
		opts:  opts, graph: g, resolver: resolver, revision: revision,
		byKey: map[inventory.Key]*node{}, world: map[inventory.Key]*observed{}, listed: map[place]string{},
	}
	if err := e.addNodes(rg); err != nil {
		return nil, err
	}
	e.takeInventory(stored)
	if len(e.nodes) == 0 && len(e.entries) > 0 && opts.Prune && !opts.AllowEmpty {
		return nil, ErrEmpty
	}
	return e, nil
}

// unknownRevision is that of a graph whose inventory was lost, and which is deleted.
const unknownRevision = "unknown"

// NewDelete returns the engine that removes everything in an inventory.
func NewDelete(stored *inventory.Inventory, opts Options) *Engine {
	opts.Mode, opts.Prune, opts.AllowEmpty = ModeDelete, true, true
	e := &Engine{
		owner: stored.Owner, opts: opts, revision: cmp.Or(stored.Revision, unknownRevision),
		byKey: map[inventory.Key]*node{}, world: map[inventory.Key]*observed{}, listed: map[place]string{},
	}
	e.takeInventory(stored)
	return e
}

// takeInventory takes what is stored and adds what is wanted.
func (e *Engine) takeInventory(stored *inventory.Inventory) {
	if stored == nil {
		stored = &inventory.Inventory{Owner: e.owner}
	}
	e.lost = stored.Revision == ""
	e.saved = stored
	wanted := make([]inventory.Entry, 0, len(e.nodes))
	for _, n := range e.nodes {
		if n.external || e.mirror && n.listed {
			continue
		}
		wanted = append(wanted, n.entry())
	}
	e.wanted = wanted
	e.entries = make(map[inventory.Key]inventory.Entry, len(wanted))
	for _, entry := range inventory.Union(stored.Entries, wanted) {
		e.entries[entry.Key] = entry
	}
	// An unchanged run finds its intent recorded.
	e.intent = !e.lost && stored.Revision == e.revision && len(e.entries) == len(stored.Entries)
	// What left has no node any more: other graphs are told so before it goes.
	left := maps.Clone(e.entries)
	for _, entry := range wanted {
		delete(left, entry.Key)
	}
	for key, entry := range left {
		if entry.Node != "" {
			entry.Node = ""
			e.entries[key] = entry
			e.intent = false
		}
	}
}

// addNodes makes the nodes, in the order of the graph and in that of their waves.
func (e *Engine) addNodes(rg *v1alpha1.ResourceGraph) error {
	waves, err := e.graph.Waves()
	if err != nil {
		return err
	}
	e.byID = make(map[string]*node, len(e.graph.Nodes))
	e.managers = map[string]bool{}
	reads := e.resolver.Reads()
	for i := range e.graph.Nodes {
		n, err := e.newNode(i, rg)
		if err != nil {
			return fmt.Errorf("node %s: %w", e.graph.Nodes[i].ID, err)
		}
		n.read = reads[n.ID]
		e.byID[n.ID] = n
		e.managers[n.manager] = true
		e.nodes = append(e.nodes, n)
		e.byKey[n.key] = n
	}
	for _, edge := range e.graph.Edges() {
		from := e.byID[edge.Node]
		needed := e.byID[edge.Needs]
		from.needs = append(from.needs, needed)
		needed.neededBy = append(needed.neededBy, from)
	}
	for wave, ids := range waves {
		for _, id := range ids {
			e.byID[id].wave, e.byID[id].status.Wave = wave, wave
			e.order = append(e.order, e.byID[id])
		}
	}
	return e.list(rg)
}

// list marks the nodes whose objects may be adopted.
func (e *Engine) list(rg *v1alpha1.ResourceGraph) error {
	adopt := rg.Spec.Adopt
	if adopt == nil {
		return nil
	}
	e.mirror = adopt.Strategy == v1alpha1.AdoptMirror
	for _, ref := range adopt.Resources {
		key := e.keyOf(ref)
		if n := e.byKey[key]; n != nil {
			n.listed = true
		}
	}
	if adopt.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(adopt.LabelSelector)
		if err != nil {
			return fmt.Errorf("spec.adopt.labelSelector: %w", err)
		}
		if !selector.Empty() {
			e.selector = selector
		}
	}
	return nil
}

// keyOf completes a reference's namespace by the graph's where the kind has one.
func (e *Engine) keyOf(ref v1alpha1.ObjectRef) inventory.Key {
	gv, _ := schema.ParseGroupVersion(ref.APIVersion) // the graph was checked
	key := inventory.Key{Group: gv.Group, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	gk := schema.GroupKind{Group: gv.Group, Kind: ref.Kind}
	cluster, known := e.graph.ClusterScoped(gk)
	if !known && e.opts.Namespaced != nil {
		namespaced, ok := e.opts.Namespaced(gv.WithKind(ref.Kind))
		cluster, known = !namespaced, ok
	}
	switch {
	case known && cluster:
		key.Namespace = ""
	case key.Namespace == "":
		key.Namespace = e.owner.Namespace
	}
	return key
}

// Owner is the graph that the engine works for.
func (e *Engine) Owner() inventory.Owner { return e.owner }

// Inventory is what the graph owns as far as the engine knows.
func (e *Engine) Inventory() *inventory.Inventory {
	inv := *e.saved
	inv.Owner, inv.Revision, inv.Complete = e.owner, e.revision, e.complete
	inv.Entries = slices.Collect(maps.Values(e.entries))
	inventory.Sort(inv.Entries)
	return &inv
}
