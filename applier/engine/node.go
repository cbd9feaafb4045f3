package engine

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/readiness"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// FieldManager is the manager of what a graph applies, unless a node says otherwise.
const FieldManager = "pequod"

// node is one node of the graph with what the engine knows about it.
type node struct {
	*graph.Node
	index    int
	key      inventory.Key
	version  string
	wave     int
	needs    []*node
	neededBy []*node
	root     *node // of a blocked node: the one that isn't blocked itself, for which all wait
	gate     *readiness.Checker
	read     bool // expressions read its object

	external bool
	mode     v1alpha1.ApplyMode
	manager  string
	force    bool
	recreate bool
	ignore   []fields.Path
	timeout  time.Duration
	orphan   bool
	listed   bool // for adoption, by name

	want    wanted
	state   state
	status  Status
	shown   Status // as the last step reported it
	touched bool   // the status may be another than shown
	lost    bool   // it failed for good, or waits for one that has
	// unrecorded nodes were applied by a run that hasn't recorded it yet.
	unrecorded bool
	// stale nodes are judged anew by the next step, others when it is time to.
	stale bool
	due   time.Time
}

// wanted is the object with its references resolved, as long as what they read
// doesn't change.
type wanted struct {
	known  bool
	seen   string // the versions of the objects that were read
	object map[string]any
	// unknown is what a preview leaves out of object.
	unknown []resolve.Unknown
	digest  string
	err     error
}

// state is what isn't seen in the cluster: actions under way, and failures.
type state struct {
	failureState              // of writing
	look         failureState // of reading
	// digest is what was wanted by the last apply, and uid of which object.
	digest      string
	uid         types.UID
	recreating  bool
	corrections int
	corrected   time.Time
	correctable time.Time // when the next correction is made
	explained   time.Time
	polled      time.Time
	cause       string
	compared    string // the live digest of a drifted object of which it was asked what drifted
	op          Operation
	began       time.Time // of the wait for readiness
}

func (e *Engine) newNode(i int, rg *v1alpha1.ResourceGraph) (*node, error) {
	spec := &e.graph.Nodes[i]
	gate, err := readiness.Compile(spec)
	if err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(spec.Object.APIVersion)
	if err != nil {
		return nil, err
	}
	n := &node{
		Node: spec, index: i, key: e.keyOf(spec.Object), version: gv.Version, gate: gate,
		stale: true, external: spec.ExternalRef != nil, mode: v1alpha1.ApplyModeApply, manager: FieldManager,
		orphan: spec.Orphaned(rg.Spec.DeletionPolicy),
	}
	n.status = Status{ID: spec.ID, Key: n.key, Version: gv.Version, Phase: v1alpha1.NodePending}
	n.shown = n.status
	p := spec.ApplyPolicy
	if p == nil {
		return n, nil
	}
	if p.Mode != "" {
		n.mode = p.Mode
	}
	if p.FieldManager != "" {
		n.manager = p.FieldManager
	}
	// What was created once is kept, unless the node says that it goes.
	if n.mode == v1alpha1.ApplyModeCreate && p.DeletionPolicy == "" {
		n.orphan = true
	}
	n.force = p.ConflictPolicy == v1alpha1.ConflictForce
	n.recreate = p.Recreate == v1alpha1.RecreateOnImmutable && Recreatable(n.GroupKind())
	if p.Timeout != "" {
		if n.timeout, err = time.ParseDuration(p.Timeout); err != nil {
			return nil, fmt.Errorf("applyPolicy.timeout: %w", err)
		}
	}
	for k, text := range p.IgnoreFields {
		path, err := fields.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("applyPolicy.ignoreFields[%d]: %w", k, err)
		}
		n.ignore = append(n.ignore, path)
	}
	return n, nil
}

// Recreatable says whether objects of a kind may be deleted to be made anew:
// never those that hold data, or other objects, that would go with them.
func Recreatable(gk schema.GroupKind) bool { return !graph.OrphanedByDefault(gk) }

// entry is the node's entry in the inventory, before anything is known of its object.
func (n *node) entry() inventory.Entry {
	return inventory.Entry{
		Key: n.key, Version: n.version, Node: n.ID, Wave: n.wave, Orphan: n.orphan,
		Create: n.mode == v1alpha1.ApplyModeCreate,
	}
}

// touchDependents has the nodes judged anew that need this one.
func (n *node) touchDependents() {
	for _, m := range n.neededBy {
		m.stale = true
	}
}
