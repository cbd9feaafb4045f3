package applier

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// predictApply predicts an Apply, with a dry run if possible.
func (p *planner) predictApply(ctx context.Context, a engine.Action) engine.Outcome {
	want := a.Apply
	details := PlannedNode{Unknown: want.Unknown, Manager: want.Manager, Adopts: want.Adopt}
	if want.Adopt {
		details.PreviousOwner = p.otherOwner(a.Key)
	}
	var live *unstructured.Unstructured
	if want.UID != "" {
		live = p.liveObject(a.Key)
	}
	// Without a dry run, the prediction is the desired object if it is created, and
	// an unknown change of the live object otherwise.
	desired := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(want.Object)}
	o := engine.Outcome{Object: desired, Created: live == nil, Changed: true}
	if live != nil {
		o.Object = withLabels(live, desired)
	}
	details.Unchecked = p.uncheckedReason(ctx, a, live)
	if details.Unchecked == "" && !p.noDryRun {
		o = retryTransient(ctx, func() engine.Outcome { return p.Client.Preview(ctx, a.Key, a.Version, live, want) })
		o.Changed = o.Changed || len(want.Unknown) > 0
	}
	var f *engine.Failure
	errors.As(o.Err, &f)
	switch {
	case f == nil || live == nil:
	case errors.Is(f, cluster.ErrOutdatedManagers):
		details.Unchecked = f.Message
	case f.Reason == engine.ReasonInvalid && len(want.Unknown) > 0:
		// The object may be invalid only because its unknown parts are missing.
		details.Unchecked = unknownReason(want)
	}
	if f != nil && details.Unchecked != "" {
		f, o = nil, engine.Outcome{Object: withLabels(live, desired), Changed: true}
	}
	// A created object is shown as desired, and a changed one as the dry run returned
	// it, also if only the owner of the replicas changes. A conflict shows the result of taking the fields.
	switch {
	case live == nil:
		details.Object = desired
	case o.Object != nil && (o.Changed || want.HandOverReplicas || f != nil) && !p.noDryRun && details.Unchecked == "":
		details.Object = o.Object
	}
	// The engine gets the failure without an object, so that dependents of the node
	// don't read a state that the apply wouldn't reach.
	if f != nil {
		details.Failure = f
		o.Err, o.Object = terminal(f), nil
	}
	details.Taken = o.Taken
	if want.Drift && o.Err == nil && live != nil && !p.noDryRun {
		details.Drift = drift(o.Object, live, want.Manager)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// The second Apply of a node creates the object that the first one couldn't
	// change.
	if before := p.nodes[a.Node]; before != nil && before.Failure != nil && before.Failure.Immutable {
		details.RecreateReason = before.Failure.Message
	}
	p.nodes[a.Node] = &details
	return o
}

// withLabels returns a copy of a live object with the labels of the desired one.
// It stands for an object whose other changes aren't known, so that the engine
// recognizes it as the graph's.
func withLabels(live, desired *unstructured.Unstructured) *unstructured.Unstructured {
	live = live.DeepCopy()
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, desired.GetLabels())
	live.SetLabels(labels)
	return live
}

// otherOwner returns the other graph that an object belongs to, nil if there is
// none.
func (p *planner) otherOwner(key inventory.Key) *inventory.Owner {
	live := p.liveObject(key)
	if live == nil {
		return nil
	}
	if owner, owned := inventory.OwnerOf(live.GetLabels()); owned && owner != p.engine.Owner() {
		return &owner
	}
	return nil
}

// uncheckedReason returns why a dry run of an Apply would fail although the Apply
// may succeed, "" if it wouldn't.
func (p *planner) uncheckedReason(ctx context.Context, a engine.Action, live *unstructured.Unstructured) string {
	if live != nil || p.noDryRun {
		return ""
	}
	// The API server can't validate an object of a kind that it doesn't serve, or in a
	// namespace that doesn't exist.
	gk := schema.GroupKind{Group: a.Key.Group, Kind: a.Key.Kind}
	if p.kinds[gk] {
		if _, err := p.Client.Kinds().Find(ctx, gk.WithVersion(a.Version)); err != nil {
			return "its CustomResourceDefinition comes with this graph"
		}
	}
	if p.namespaces[a.Key.Namespace] && p.liveObject(inventory.Key{Kind: "Namespace", Name: a.Key.Namespace}) == nil {
		return "its Namespace comes with this graph"
	}
	// An object that is to be recreated still has the name.
	if p.liveObject(a.Key) != nil {
		return "the object that it replaces still exists"
	}
	// Unknown parts may be required fields.
	if len(a.Apply.Unknown) > 0 {
		return unknownReason(a.Apply)
	}
	return ""
}

// unknownReason names the first unknown part of a request.
func unknownReason(want *engine.ApplyRequest) string {
	return fmt.Sprintf("%s is known after the apply", want.Unknown[0].Path)
}

// drift returns the fields that a manager would get back, with the managers that
// own them now.
func drift(applied, live *unstructured.Unstructured, manager string) []engine.Conflict {
	var changed []engine.Conflict
	for _, field := range fields.Lost(applied, live, manager) {
		changed = append(changed, engine.Conflict{Field: field.Path.String(), Manager: field.Manager})
	}
	return changed
}
