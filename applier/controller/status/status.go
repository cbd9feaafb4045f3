package status

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/conditions"
	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
)

// Base is the input that every status starts from.
type Base struct {
	// Graph gives the generation and the content that the status is about.
	Graph *v1alpha1.ResourceGraph
	// Stored is the status as it is stored. It is not changed.
	Stored *v1alpha1.ResourceGraphStatus
	// Requested is the value of the annotation that asks for a reconciliation, as
	// of the begin of the run. The status repeats it, so that clients can wait for
	// the reconciliation that they asked for.
	Requested string
	// Advice ends the message of a graph that waits for a change by a person: what to do,
	// and when the applier tries again. It may be empty.
	Advice string
}

// Run is the state of an execution or a deletion.
type Run struct {
	Base
	// Deleting is set if the graph's objects are being deleted.
	Deleting bool
	// Phase is that of the engine, and Nodes the states of its nodes.
	Phase engine.Phase
	Nodes []engine.Status
	// Unsearched are API groups in which objects that left the graph are still to be
	// searched.
	Unsearched []engine.Unsearched
	// Err is an error that keeps the run from making progress and that the states of
	// the nodes don't show, such as that the inventory can't be written.
	Err error
	// Outputs evaluates the outputs of a completed graph. The errors are those of
	// outputs without a value.
	Outputs func() (map[string]any, map[string]error)
	// Inventory lists the objects of the graph; nil keeps the stored inventory.
	Inventory *v1alpha1.Inventory
	// Revision describes how the run ended; nil means that it hasn't ended.
	Revision *v1alpha1.Revision
}

// Status returns the status of the run. The steps:
//
// 1. Copy the stored status for the current generation.
//
// 2. Replace inventory, node states and outputs as far as the run knows them. A
// deletion leaves node states and outputs as they were.
//
// 3. Choose phase and conditions; the first case that applies wins.
//
// 4. Add the end of the run to the history, with the message of the conditions.
func (r Run) Status() *v1alpha1.ResourceGraphStatus {
	next := r.observed()
	if r.Inventory != nil {
		next.Inventory = r.Inventory
	}
	omitted := "" // why outputs are missing
	if !r.Deleting {
		next.Nodes = countNodes(r.Nodes)
		next.NodeStates = nodeStates(r.Nodes, r.Stored.NodeStates)
		if r.Phase == engine.Completed {
			next.Outputs, omitted = outputs(r.Outputs())
		}
	}
	reason, message := summary(r.Nodes)
	var failure *engine.Failure
	if errors.As(r.Err, &failure) {
		reason, message = cmp.Or(reason, failure.Reason), join(message, r.Err.Error())
	}
	unsearched := Unsearched(r.Unsearched)
	message = join(message, unsearched)
	switch {
	case r.Deleting && r.Phase == engine.Stuck:
		next.Phase = v1alpha1.GraphFailed
		r.setConditions(next, metav1.ConditionFalse, "DeletionFailed", message, v1alpha1.ConditionStalled)
	case r.Deleting:
		next.Phase = v1alpha1.GraphExecuting
		r.setConditions(next, metav1.ConditionFalse, "Deleting", message, v1alpha1.ConditionReconciling)
	case r.Phase == engine.Completed:
		next.Phase = v1alpha1.GraphCompleted
		r.setConditions(next, metav1.ConditionTrue, "Completed", join(objectsReady(r.Nodes), remarks(r.Nodes), leaving(r.Nodes), omitted, unsearched), "")
	case r.Phase == engine.Stuck:
		next.Phase = v1alpha1.GraphFailed
		r.setConditions(next, metav1.ConditionFalse, cmp.Or(reason, "Failed"), message, v1alpha1.ConditionStalled)
	case reason != "":
		next.Phase = v1alpha1.GraphExecuting
		r.setConditions(next, metav1.ConditionFalse, reason, message, v1alpha1.ConditionReconciling)
	default:
		next.Phase = v1alpha1.GraphExecuting
		r.setConditions(next, metav1.ConditionUnknown, "Progressing", message, v1alpha1.ConditionReconciling)
	}
	if r.Revision != nil {
		revision := *r.Revision
		revision.Message = meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady).Message
		next.History = withRevision(next.History, revision)
	}
	return next
}

// join joins the parts of a message that aren't empty.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// Unsearched describes API groups in which objects that left a graph are still to be
// searched, "" if there are none.
func Unsearched(groups []engine.Unsearched) string {
	if len(groups) == 0 {
		return ""
	}
	var texts []string
	for _, u := range groups {
		texts = append(texts, strings.TrimSuffix(u.Group+": "+u.Reason, ": "))
	}
	return "objects that left the graph are still to be searched in API groups that aren't available: " + joinFirst(texts)
}

// Stalled returns the status of a graph that can't be executed until its spec or
// the cluster is changed. Inventory and node states stay: the objects still
// exist.
func Stalled(b Base, reason, message string) *v1alpha1.ResourceGraphStatus {
	next := b.observed()
	next.Phase = v1alpha1.GraphFailed
	b.setConditions(next, metav1.ConditionFalse, reason, message, v1alpha1.ConditionStalled)
	return next
}

// Suspended returns the status of a graph that is suspended or paused. A graph
// stays ready if it was ready when it was suspended and has the same content now.
//
// A status that is already about this generation, and not in progress, is
// returned unchanged, so that a suspended graph causes no writes.
func Suspended(b Base) *v1alpha1.ResourceGraphStatus {
	if b.Stored.ObservedGeneration == b.Graph.Generation && meta.FindStatusCondition(b.Stored.Conditions, v1alpha1.ConditionReconciling) == nil {
		return b.Stored.DeepCopy()
	}
	next := b.observed()
	ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || next.Inventory == nil || !b.executed() {
		b.setConditions(next, metav1.ConditionUnknown, "Suspended", "the graph is suspended; its current content is not executed", "")
	} else {
		b.setConditions(next, ready.Status, ready.Reason, ready.Message, "")
	}
	return next
}

// executed reports whether the last execution completed, and executed the content
// that the graph has now. It compares hashes of the content, because the
// generation also grows with fields that don't affect the objects.
func (b Base) executed() bool {
	if len(b.Stored.History) == 0 || b.Stored.Inventory == nil {
		return false
	}
	last := b.Stored.History[0]
	hash, err := graph.RenderHash(b.Graph.Spec.Graph)
	return err == nil && last.Result == v1alpha1.GraphCompleted && b.Stored.Inventory.Complete && last.Hash == hash
}

// requested returns Requested as the status repeats it: a value that is too long is
// shortened.
func (b Base) requested() string {
	if len(b.Requested) > maxRequested {
		return source.OneLine(b.Requested, maxRequested)
	}
	return b.Requested
}

// observed returns a copy of the stored status for the current generation.
func (b Base) observed() *v1alpha1.ResourceGraphStatus {
	next := b.Stored.DeepCopy()
	next.ObservedGeneration = b.Graph.Generation
	next.ReconcileRequestedAt = b.requested()
	return next
}

// setConditions sets Ready, and of Reconciling and Stalled the one that abnormal
// names, or neither. All get the same reason and message. The transition time of
// a condition changes only with its status.
func (b Base) setConditions(next *v1alpha1.ResourceGraphStatus, ready metav1.ConditionStatus, reason, message, abnormal string) {
	if abnormal == v1alpha1.ConditionStalled && b.Advice != "" {
		message = join(source.OneLine(message, v1alpha1.MaxMessage-len("; "+b.Advice)), b.Advice)
	}
	conditions.Writer{To: &next.Conditions, Generation: b.Graph.Generation}.State(ready, reason, source.OneLine(message, v1alpha1.MaxMessage), abnormal)
}

// objectsReady returns the message of a completed graph.
func objectsReady(statuses []engine.Status) string {
	if n := len(nodesOf(statuses)); n != 1 {
		return fmt.Sprintf("%d objects are ready", n)
	}
	return "1 object is ready"
}

// remarks returns the messages of nodes that are ready nevertheless.
func remarks(statuses []engine.Status) string {
	var texts []string
	for _, s := range nodesOf(statuses) {
		if s.Phase == v1alpha1.NodeReady && s.Message != "" {
			texts = append(texts, s.ID+": "+s.Message)
		}
	}
	return joinFirst(texts)
}

// leaving describes the objects that left a completed graph and aren't removed yet,
// or were released because of an annotation.
func leaving(statuses []engine.Status) string {
	var texts []string
	for _, s := range statuses {
		switch {
		case s.ID != "":
		case s.Phase == v1alpha1.NodeWaiting:
			texts = append(texts, s.Key.String()+" "+s.Message)
		case s.Phase == v1alpha1.NodeGone && s.Reason == engine.ReasonKept:
			texts = append(texts, s.Key.String()+" was released instead of deleted: "+s.Message)
		}
	}
	return joinFirst(texts)
}

// summary returns a line about the progress of a graph, and the reason of the
// first failure. Without one, the reason is Degraded if a node is, or else empty. The line counts nodes and
// explains the first three that aren't ready, failures first:
//
//	1 of 3 ready; web: ImagePullBackOff; cache: waiting
//
// Objects that left the graph aren't counted. They are named by their key as long
// as they exist.
func summary(statuses []engine.Status) (reason, message string) {
	ready, nodes := 0, 0
	degraded := "" // the reason if no node failed
	var failed, waiting []string
	for _, s := range statuses {
		name := s.ID
		if name == "" { // the object left the graph
			if s.Phase == v1alpha1.NodeGone {
				continue
			}
			name = s.Key.String()
		} else {
			nodes++
		}
		text := name + ": " + cmp.Or(s.Message, strings.ToLower(string(s.Phase)))
		switch s.Phase {
		case v1alpha1.NodeReady:
			ready++
		case v1alpha1.NodeFailed:
			reason = cmp.Or(reason, s.Reason)
			failed = append(failed, text)
		case v1alpha1.NodeDegraded:
			degraded = s.Reason
			failed = append(failed, text)
		case v1alpha1.NodeProgressing, v1alpha1.NodeWaiting, v1alpha1.NodeDeleting:
			waiting = append(waiting, text)
		}
	}
	parts := []string{fmt.Sprintf("%d of %d ready", ready, nodes)}
	if nodes == 0 {
		parts = nil
	}
	if details := joinFirst(slices.Concat(failed, waiting)); details != "" {
		parts = append(parts, details)
	}
	return cmp.Or(reason, degraded), strings.Join(parts, "; ")
}
