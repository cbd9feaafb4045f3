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

// FieldManager is the default field manager of applied objects.
const FieldManager = "pequod"

// node is a node of the graph with the state of its execution.
type node struct {
	*graph.Node
	index   int // in the graph
	key     inventory.Key
	version string // API version
	// unscoped is the kind of the object while its scope isn't known. The key is
	// provisional until then, and isn't used for requests or records.
	unscoped *unscopedKind
	wave     int
	// needs are the nodes that this one depends on, neededBy those that depend on
	// it.
	needs, neededBy []*node
	// referenced is set if expressions read the object of the node.
	referenced bool
	checker    *readiness.Checker
	policy     applyPolicy

	desired  desired
	progress progress
	schedule schedule
	status   Status
	// reported is the status in the last Step.Changes that had one, and touched is
	// set if status may differ from it.
	reported Status
	touched  bool
	// blockedOn is, of a blocked node, the node at the end of the chain of blocked
	// nodes: the one that isn't blocked itself.
	blockedOn *node
	// hopeless is set if the node failed for good or waits for a node that did.
	hopeless bool
	// unrecorded is set if another run applied the object and didn't record it yet.
	unrecorded bool
}

// applyPolicy is how the object of a node is applied and removed.
type applyPolicy struct {
	// external objects are made by others. They are read, never written.
	external bool
	// listed is set if spec.adopt names the object.
	listed   bool
	mode     v1alpha1.ApplyMode
	manager  string
	force    bool
	recreate bool
	ignore   []fields.Path
	// timeout limits the wait for readiness; 0 means no limit.
	timeout time.Duration
	orphan  bool
}

// desired is the object of a node with its references resolved. It is valid until
// an object that the references read changes.
type desired struct {
	resolved bool
	// sources identifies the versions of the objects that the references read.
	sources string
	object  map[string]any
	// unknown are the parts that a plan leaves out of object.
	unknown []resolve.Unknown
	digest  string
	// err is why the references couldn't be resolved. Then only unknown is set.
	err error
}

// progress is the part of a node's state that can't be observed in the cluster.
type progress struct {
	write retryState // of Apply and Delete
	read  retryState
	// digest is the desired digest of the last Apply, and uid its precondition.
	digest string
	uid    types.UID
	// rival is the graph from which the last Apply took the object, the zero value if
	// it took it from none.
	rival inventory.Owner
	// recreating is set from the deletion of an immutable object until the Apply
	// that creates it again.
	recreating bool
	// restored is set if the object was restored with its labels and wasn't applied
	// since.
	restored bool
	// refused is set if the object isn't read or written because that failed in an
	// earlier engine.
	refused     bool
	corrections corrections
	explained   time.Time // time of the last Explain
	explaining  bool      // an Explain is in flight
	// explanation is the last answer to Explain.
	explanation explanation
	// compared is the live digest of the drifted object in the last Compare.
	compared string
	op       Operation
	// waitingSince is the time since which the node waits to become ready, zero if
	// it doesn't.
	waitingSince time.Time
	// unverified is the newest version of the object that a watch reported and that
	// isn't learned before it is read as the graph's account, "" if there is none.
	unverified string
}

// corrections counts how often drift was corrected in a short time.
type corrections struct {
	count int
	last  time.Time
	// next is the earliest time of the next correction.
	next time.Time
}

// schedule determines when a node is reconciled.
type schedule struct {
	// stale nodes are reconciled by the next step.
	stale bool
	// due is when a node is reconciled that isn't stale, zero if never.
	due time.Time
}

// newNode creates the i-th node of a graph. Its dependencies, wave and references
// are set later.
func newNode(g *graph.Graph, i int, keys keyResolver, deletion v1alpha1.DeletionPolicy) (*node, error) {
	spec := &g.Nodes[i]
	checker, err := readiness.Compile(spec)
	if err != nil {
		return nil, err
	}
	gv, err := schema.ParseGroupVersion(spec.Object.APIVersion)
	if err != nil {
		return nil, err
	}
	key, _ := keys.key(spec.Object)
	n := &node{
		Node: spec, index: i, key: key, version: gv.Version, checker: checker,
		schedule: schedule{stale: true},
	}
	if n.policy, err = newApplyPolicy(spec, deletion); err != nil {
		return nil, err
	}
	n.status = Status{ID: spec.ID, Key: n.key, Version: gv.Version, Phase: v1alpha1.NodePending}
	n.reported = n.status
	return n, nil
}

// ManagerOf returns the field manager of a node.
func ManagerOf(spec *graph.Node) string {
	if p := spec.ApplyPolicy; p != nil && p.FieldManager != "" {
		return p.FieldManager
	}
	return FieldManager
}

// labeled reports whether the observed object of the node has the graph's labels, or will have them.
func (n *node) labeled(seen *observation) bool {
	return !n.policy.external && (seen.absent || seen.mine)
}

// newApplyPolicy reads the policy of a node. Errors name the field below the node.
func newApplyPolicy(spec *graph.Node, deletion v1alpha1.DeletionPolicy) (applyPolicy, error) {
	a := applyPolicy{
		external: spec.ExternalRef != nil, mode: v1alpha1.ApplyModeApply, manager: ManagerOf(spec),
		orphan: spec.Orphaned(deletion),
	}
	p := spec.ApplyPolicy
	if p == nil {
		return a, nil
	}
	if p.Mode != "" {
		a.mode = p.Mode
	}
	// An object that is created only once is kept by default, because others are
	// expected to own its content.
	if a.mode == v1alpha1.ApplyModeCreate && p.DeletionPolicy == "" {
		a.orphan = true
	}
	a.force = p.ConflictPolicy == v1alpha1.ConflictForce
	a.recreate = p.Recreate == v1alpha1.RecreateOnImmutable && Recreatable(spec.GroupKind())
	if p.Timeout != "" {
		var err error
		if a.timeout, err = time.ParseDuration(p.Timeout); err != nil {
			return a, fmt.Errorf("applyPolicy.timeout: %w", err)
		}
	}
	for k, text := range p.IgnoreFields {
		path, err := fields.Parse(text)
		if err != nil {
			return a, fmt.Errorf("applyPolicy.ignoreFields[%d]: %w", k, err)
		}
		a.ignore = append(a.ignore, path)
	}
	return a, nil
}

// Recreatable reports whether objects of a kind may be deleted in order to
// recreate them. Kinds whose deletion loses data or other objects, such as
// PersistentVolumeClaims and Namespaces, may not.
func Recreatable(gk schema.GroupKind) bool { return !graph.OrphanedByDefault(gk) }

// entry returns the intent of the node: its inventory entry before the object is
// applied.
func (n *node) entry() inventory.Entry {
	entry := inventory.Entry{
		Key: n.key, Version: n.version, Node: n.ID, Wave: n.wave, Orphan: n.policy.orphan,
		Create: n.policy.mode == v1alpha1.ApplyModeCreate,
	}
	if n.policy.manager != FieldManager {
		entry.Manager = n.policy.manager
	}
	return entry
}

// markDependentsStale makes the next step reconcile the nodes that depend on n.
func (n *node) markDependentsStale() {
	for _, m := range n.neededBy {
		m.schedule.stale = true
	}
}

// settled reports whether a plan has its final result for the node.
func (n *node) settled() bool {
	switch n.status.Phase {
	case v1alpha1.NodeReady, v1alpha1.NodeWaiting, v1alpha1.NodeFailed:
		return !n.progress.write.inFlight
	}
	return false
}
