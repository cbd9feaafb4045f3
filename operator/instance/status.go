package instance

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/conditions"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// The phases of instances.
const (
	// phasePending instances were rendered, and their objects aren't ready yet; or they wait
	// for something else, such as the end of a pause.
	phasePending = "Pending"
	// phaseRendering instances are rendered for the first time, or again after a failure that
	// passes.
	phaseRendering = "Rendering"
	// phaseReady instances have only objects that are ready.
	phaseReady = "Ready"
	// phaseFailed instances were refused, or have an object that failed or is degraded.
	phaseFailed = "Failed"
)

// The reasons of conditions that aren't those of the graph.
const (
	reasonProgressing     = "Progressing"
	reasonPaused          = "Paused"
	reasonDeleting        = "Deleting"
	reasonRenderFailed    = "CueRenderFailed"
	reasonPolicyViolation = "PolicyViolation"
	// reasonPolicyUnchecked: a policy can't be evaluated, so the instance can't pass.
	reasonPolicyUnchecked = "PolicyNotEvaluated"
	// reasonTransformNotReady: there is no version of the platform to render the instance with.
	reasonTransformNotReady = "TransformNotReady"
	// reasonVersionMissing: the manager doesn't have the version that the instance must have.
	reasonVersionMissing = "VersionMissing"
	// reasonGraphExists: the name of the graph is taken by a graph of other origin.
	reasonGraphExists = "GraphExists"
	// reasonGraphElsewhere: the instance has a graph in another namespace.
	reasonGraphElsewhere = "GraphElsewhere"
	// reasonGraphRefused: the API server refuses the graph.
	reasonGraphRefused = "GraphRefused"
	// reasonGraphNotWritten: requests for the graph fail again and again.
	reasonGraphNotWritten = "GraphNotWritten"
	// reasonFormerGraph: the graph of a former instance of this name is being deleted.
	reasonFormerGraph = "FormerGraph"
)

// status is the part of an instance's status that every generated kind has.
type status struct {
	Phase                  string               `json:"phase,omitempty"`
	ObservedGeneration     int64                `json:"observedGeneration,omitempty"`
	LastHandledReconcileAt string               `json:"lastHandledReconcileAt,omitempty"`
	ResourceGraphRef       *graphRef            `json:"resourceGraphRef,omitempty"`
	Module                 *moduleRef           `json:"module,omitempty"`
	Nodes                  *v1alpha1.NodeCounts `json:"nodes,omitempty"`
	FirstFailure           *firstFailure        `json:"firstFailure,omitempty"`
	Outputs                map[string]any       `json:"outputs,omitempty"`
	Conditions             []metav1.Condition   `json:"conditions,omitempty"`
	// Own are the fields of the module's #Status that have outputs. See ownstatus.go.
	Own map[string]any `json:"-"`
}

// graphRef names the graph of an instance.
type graphRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
}

// moduleRef is the module that the graph was rendered from.
type moduleRef struct {
	Digest  string `json:"digest,omitempty"`
	Version string `json:"version,omitempty"`
}

// firstFailure is the first node that failed, in the order of the graph.
type firstFailure struct {
	Node    string `json:"node"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// situation is what is known about an instance when its status is composed. At most one of
// refusal, paused and deleting is set. If none is, the graph has the rendered content.
type situation struct {
	generation int64
	stored     *status // as it is in the cluster; it isn't changed
	graph      *graphView
	requested  string // a reconciliation that was asked for, or ""
	own        ownStatus

	// refusal explains why the instance has no graph of this generation.
	refusal *refusal
	// paused explains why nothing is written.
	paused   string
	deleting bool
	// outdated is set if the graph is not as it was found, so that nothing is known about it.
	outdated bool
}

// refusal explains why an instance could not be turned into a graph.
type refusal struct {
	reason, message string
	// violations are the numbers of findings of policies by their severity, a problem.Severity.
	violations [problem.Note + 1]int
	// retried is set if it is tried again without a change of the instance or its module.
	retried bool
	// phase is that of an instance whose refusal is retried; "" means Rendering.
	phase string
}

// compose returns the status of an instance.
func compose(s situation) *status {
	next := &status{
		ObservedGeneration: s.generation, LastHandledReconcileAt: s.stored.LastHandledReconcileAt,
		Conditions: append([]metav1.Condition(nil), s.stored.Conditions...),
	}
	next.describe(s.graph)
	next.Own = s.own.of(next.Outputs, s.stored.Own)
	switch {
	case s.deleting:
		next.Phase = phasePending
		next.set(metav1.ConditionFalse, reasonDeleting, deletionMessage(s.graph), v1alpha1.ConditionReconciling)
	case s.paused != "":
		next.pause(s)
	case s.refusal != nil:
		next.refuse(s)
	default:
		next.follow(s)
	}
	if refused := s.own.refused(next.Outputs); refused != "" {
		next.note(refused)
	}
	return next
}

// describe copies the facts about a graph, which may be nil.
func (next *status) describe(g *graphView) {
	if g == nil {
		return
	}
	next.ResourceGraphRef = &graphRef{Name: g.Name, Namespace: g.Namespace}
	next.Module = &moduleRef{Digest: g.platform.Digest, Version: g.platform.Version}
	next.Nodes = &v1alpha1.NodeCounts{
		Total: g.total, Ready: g.state.ready, Failed: g.state.failed, Summary: fmt.Sprintf("%d/%d", g.state.ready, g.total),
	}
	next.FirstFailure, next.Outputs = g.state.failure, g.state.outputs
}

// follow sets phase and conditions of an instance whose graph has the rendered content.
func (next *status) follow(s situation) {
	g := s.graph
	if s.requested != "" && g.state.requested == s.requested {
		next.LastHandledReconcileAt = s.requested
	}
	ready := g.state.condition
	if !g.current() || ready == nil {
		next.Phase = phasePending
		message := "the ResourceGraph was written; its execution hasn't begun"
		if g.Labels[v1alpha1.LabelOperator] == v1alpha1.OperatorRenders {
			message = "the ResourceGraph was written; pequod-applier hasn't begun to execute it"
		}
		next.set(metav1.ConditionUnknown, reasonProgressing, message, v1alpha1.ConditionReconciling)
		return
	}
	abnormal := v1alpha1.ConditionReconciling
	switch {
	case ready.Status == metav1.ConditionTrue:
		next.Phase, abnormal = phaseReady, ""
	case g.state.stalled:
		next.Phase, abnormal = phaseFailed, v1alpha1.ConditionStalled
	case g.state.failed > 0:
		next.Phase = phaseFailed
	default:
		next.Phase = phasePending
	}
	next.set(ready.Status, ready.Reason, ready.Message, abnormal)
}

// refuse sets phase and conditions of an instance that was refused.
func (next *status) refuse(s situation) {
	if s.requested != "" && !s.refusal.retried {
		next.LastHandledReconcileAt = s.requested
	}
	message := s.refusal.message
	if s.graph != nil {
		message += "; the ResourceGraph stays as it was before"
	}
	if s.refusal.retried {
		next.Phase = cmp.Or(s.refusal.phase, phaseRendering)
		next.set(metav1.ConditionFalse, s.refusal.reason, message, v1alpha1.ConditionReconciling)
		return
	}
	next.Phase = phaseFailed
	next.set(metav1.ConditionFalse, s.refusal.reason, message, v1alpha1.ConditionStalled)
}

// pause sets phase and conditions of an instance that is paused. As long as it has the
// content that it had when it was paused, it follows its graph.
func (next *status) pause(s situation) {
	before := meta.FindStatusCondition(s.stored.Conditions, v1alpha1.ConditionReady)
	written := s.stored.ObservedGeneration == s.generation && before != nil && (before.Reason != reasonPaused || before.Status == metav1.ConditionTrue)
	ready := metav1.ConditionUnknown
	next.Phase = phasePending
	if written && s.graph != nil && s.graph.current() && s.graph.state.condition != nil && s.graph.state.condition.Status == metav1.ConditionTrue {
		next.Phase, ready = phaseReady, metav1.ConditionTrue
	}
	next.set(ready, reasonPaused, s.paused, "")
}

// deletionMessage describes the progress of the deletion of an instance whose graph is
// deleted before it.
func deletionMessage(g *graphView) string {
	if g == nil || g.state.condition == nil || g.DeletionTimestamp == nil {
		return "the instance is being deleted"
	}
	return "the ResourceGraph is being deleted: " + g.state.condition.Message
}

// note adds a text to the message of Ready.
func (next *status) note(text string) {
	if ready := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady); ready != nil {
		ready.Message = source.OneLine(ready.Message+"; "+text, v1alpha1.MaxMessage)
	}
}

// set sets Ready, and of Reconciling and Stalled the one that abnormal names, or neither.
// All get the same reason and message.
func (next *status) set(ready metav1.ConditionStatus, reason, message, abnormal string) {
	conditions.Writer{To: &next.Conditions, Generation: next.ObservedGeneration}.State(
		ready, cmp.Or(reason, reasonProgressing), source.OneLine(message, v1alpha1.MaxMessage), abnormal)
}
