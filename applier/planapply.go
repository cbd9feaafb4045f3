package applier

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/inventory"
)

// apply asks what an apply would make of an object.
func (p *planner) apply(ctx context.Context, a engine.Action) engine.Outcome {
	want := a.Apply
	found := PlannedNode{Unknown: want.Unknown, Manager: want.Manager, Adopts: want.Adopt}
	if want.Adopt {
		found.PreviousOwner = p.foreign(a.Key)
	}
	var live *unstructured.Unstructured
	if want.UID != "" {
		live = p.liveOf(a.Key)
	}
	wanted := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(want.Object)}
	o := engine.Outcome{Object: wanted, Created: live == nil, Changed: true}
	if live != nil {
		o.Object = withLabels(live, wanted)
	}
	found.Unchecked = p.unchecked(ctx, a, live)
	if found.Unchecked == "" && !p.offhand {
		o = insist(ctx, func() engine.Outcome { return p.Client.Preview(ctx, a.Key, a.Version, live, want) })
		o.Changed = o.Changed || len(want.Unknown) > 0
	}
	var f *engine.Failure
	errors.As(o.Err, &f)
	if f != nil && f.Reason == engine.ReasonInvalid && live != nil && len(want.Unknown) > 0 {
		found.Unchecked = unknownText(want) // it may be what is missing
		f, o = nil, engine.Outcome{Object: withLabels(live, wanted), Changed: true}
	}
	switch {
	case live == nil:
		found.Object = wanted
	case o.Object != nil && (o.Changed || f != nil) && !p.offhand && found.Unchecked == "":
		found.Object = o.Object
	}
	if f != nil {
		terminal := *f
		terminal.Terminal = true // a plan tries once
		found.Failure = f
		o.Err, o.Object = &terminal, nil
	}
	found.Taken = o.Taken
	if want.Drift && o.Err == nil && live != nil && !p.offhand {
		found.Drift = drift(o.Object, live, want.Manager)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.nodes[a.Node]; before != nil && before.Failure != nil && before.Failure.Immutable {
		found.RecreateReason = before.Failure.Message
	}
	p.nodes[a.Node] = &found
	return o
}

// withLabels is an object of which it isn't known how it would change, only that
// it would be the graph's.
func withLabels(live, wanted *unstructured.Unstructured) *unstructured.Unstructured {
	live = live.DeepCopy()
	labels := live.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, wanted.GetLabels())
	live.SetLabels(labels)
	return live
}

func unknownText(want *engine.ApplyRequest) string {
	return fmt.Sprintf("%s is known after the apply", want.Unknown[0].Path)
}

// foreign is the graph that an object belongs to now.
func (p *planner) foreign(key inventory.Key) *inventory.Owner {
	live := p.liveOf(key)
	if live == nil {
		return nil
	}
	if owner, owned := inventory.OwnerOf(live.GetLabels()); owned && owner != p.engine.Owner() {
		return &owner
	}
	return nil
}

// unchecked says why a dry run can't tell anything about an object.
func (p *planner) unchecked(ctx context.Context, a engine.Action, live *unstructured.Unstructured) string {
	if live != nil || p.offhand {
		return ""
	}
	gk := schema.GroupKind{Group: a.Key.Group, Kind: a.Key.Kind}
	if p.kinds[gk] {
		if _, err := p.Client.Kinds().Find(ctx, gk.WithVersion(a.Version)); err != nil {
			return "its CustomResourceDefinition comes with this graph"
		}
	}
	if p.namespaces[a.Key.Namespace] && p.liveOf(inventory.Key{Kind: "Namespace", Name: a.Key.Namespace}) == nil {
		return "its Namespace comes with this graph"
	}
	if p.liveOf(a.Key) != nil {
		return "the object that it replaces is still there"
	}
	if len(a.Apply.Unknown) > 0 {
		return unknownText(a.Apply)
	}
	return ""
}

// drift is what others did to the fields of a graph since its last apply.
func drift(applied, live *unstructured.Unstructured, manager string) []engine.Conflict {
	var changed []engine.Conflict
	for _, field := range fields.Lost(applied, live, manager) {
		changed = append(changed, engine.Conflict{Field: field.Path.String(), Manager: field.Manager})
	}
	return changed
}
