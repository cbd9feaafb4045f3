package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/review"
	"github.com/pequod-io/pequod/review/forecast"
)

// liveReview asks a cluster about the changed instances of a report.
type liveReview struct {
	*applier.Applier
	options applier.PlanOptions
	live    review.Live
	// all and changed are the objects of the plans, and those that an apply changes.
	all, changed []objectdiff.Live
	answers      review.Answers

	mu sync.Mutex // guards live, while graphs are planned
}

// refine refines a report by dry runs of its changed graphs in the cluster of the connection
// flags. A cluster that can't be asked is no error: the report then says so.
func (o *reviewOptions) refine(ctx context.Context, env command.Env, r *review.Report) error {
	l := &liveReview{live: review.Live{Context: o.Cluster()}, answers: review.Answers{Exists: map[objectdiff.Key]bool{}, Results: map[objectdiff.Key]*objectdiff.Object{}}}
	a, err := o.Connect(kube.PrintWarnings(env.Err))
	if err != nil {
		return err // a mistake in the flags or the kubeconfig
	}
	l.Applier = a
	l.options.Prune = true
	l.options.Fallback = o.Fallback()
	plans, err := l.plan(ctx, r)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		l.live.Incomplete = true
		l.live.Error = source.OneLine(kube.Error(err).Error(), maxReason)
		r.Refine(l.live, review.Answers{})
		return nil
	}
	for i, plan := range plans {
		if plan != nil {
			l.add(plan)
			l.addAbsent(&r.Instances[i])
		}
	}
	used := l.addNamespaces(ctx)
	if err := l.compare(used); err != nil {
		return err
	}
	l.live.ReadOnly = l.options.Fallback.Denied()
	slices.Sort(l.live.NotAsked)
	r.Refine(l.live, l.answers)
	return nil
}

// maxReason is the largest length of a reason for which something was not asked.
const maxReason = 300

// plan plans the apply of the changed graphs of the head, and the deletion of those that are
// removed. A graph that can't be planned has no plan, and its reason is kept. The error is one
// of the connection: then there is no answer at all.
func (l *liveReview) plan(ctx context.Context, r *review.Report) ([]*applier.Plan, error) {
	plain := 0
	for i := range r.Instances {
		switch in := &r.Instances[i]; {
		case in.After != nil && in.After.Spec.KubeConfig != nil: // its objects are elsewhere
		case in.After != nil:
			l.options.Siblings = append(l.options.Siblings, in.After)
		case in.Before == nil:
			plain++
		}
	}
	if plain > 0 {
		l.live.NotAsked = append(l.live.NotAsked, source.Count(plain, "plain manifest")+": pequod doesn't apply them")
	}
	plans := make([]*applier.Plan, len(r.Instances))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(execute.MaxConcurrent)
	for i := range r.Instances {
		in := &r.Instances[i]
		rg := in.After
		if rg == nil {
			rg = in.Before
		}
		if rg == nil {
			continue
		}
		g.Go(func() (err error) {
			plans[i], err = l.planOne(ctx, rg, in.After == nil)
			if err == nil {
				return nil
			}
			if cluster.Unreachable(err) != nil || apierrors.IsUnauthorized(err) || ctx.Err() != nil {
				return err
			}
			plans[i] = nil
			l.note(source.OneLine(execute.GraphError(rg, err).Error(), maxReason))
			return nil
		})
	}
	return plans, g.Wait()
}

// planOne plans the apply or the deletion of a graph.
func (l *liveReview) planOne(ctx context.Context, rg *v1alpha1.ResourceGraph, removed bool) (*applier.Plan, error) {
	if removed {
		return l.PlanDelete(ctx, inventory.Owner{Namespace: rg.Namespace, Name: rg.Name}, l.options)
	}
	o := l.options
	if rg.Spec.DriftPolicy != v1alpha1.DriftReport {
		o.Drift = engine.CorrectDrift
	}
	return l.Plan(ctx, rg, o)
}

// note records a part that has no answer, and should have one.
func (l *liveReview) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live.NotAsked, l.live.Incomplete = append(l.live.NotAsked, text), true
}

// add adds the objects of a plan. Those that the plan could not find out about are left out,
// with the reason.
func (l *liveReview) add(plan *applier.Plan) {
	for _, n := range plan.Nodes {
		key := objectdiff.Key{Group: n.Key.Group, Kind: n.Key.Kind, Namespace: n.Key.Namespace, Name: n.Key.Name}
		if n.Failure != nil && execute.NodeExitCode(n) == command.ExitUnknown {
			l.note(key.String() + ": " + source.OneLine(n.Failure.Error(), maxReason))
			continue
		}
		live := execute.LiveNode(plan, n)
		l.all = append(l.all, live)
		l.answers.Exists[key] = n.Live != nil
		l.addResult(key, n)
		if n.Op != engine.Unchanged && n.Op != engine.Observed {
			l.changed = append(l.changed, live)
		}
	}
	for _, removed := range plan.Removals {
		live := execute.LiveRemoval(plan, removed)
		key := objectdiff.Key{Group: removed.Key.Group, Kind: removed.Key.Kind, Namespace: removed.Key.Namespace, Name: removed.Key.Name}
		if removed.Live == nil && removed.Failure != nil {
			l.note(key.String() + ": " + source.OneLine(removed.Failure.Error(), maxReason))
			continue
		}
		l.answers.Exists[key] = removed.Live != nil
		if removed.Live != nil {
			l.all, l.changed = append(l.all, live), append(l.changed, live)
		}
	}
}

// addResult records an existing object as the dry run of a node leaves it.
func (l *liveReview) addResult(key objectdiff.Key, n applier.PlannedNode) {
	if n.Live == nil || n.Failure != nil || n.WaitReason != "" || n.Unchecked != "" || n.Op == engine.Recreated || n.Op == engine.Observed {
		return
	}
	// An object without a predicted one stays unchanged. One that can't be read has no result.
	objects, err := objectdiff.FromManifest(cmp.Or(n.Object, n.Live).Object, "")
	if err == nil && len(objects) == 1 {
		l.answers.Results[key] = &objects[0]
	}
}

// addAbsent records that removed objects of a planned instance have nothing in the cluster
// that a removal would concern.
func (l *liveReview) addAbsent(in *review.Instance) {
	for _, o := range in.Objects {
		if _, known := l.answers.Exists[o.Key]; !known && o.Action == objectdiff.Remove && o.Node != "" {
			l.answers.Exists[o.Key] = false
		}
	}
}

// compare fills in the differences between the live objects and the head.
func (l *liveReview) compare(used forecast.Used) error {
	d, err := objectdiff.CompareLive(l.changed)
	if err != nil {
		return err
	}
	before, after, err := objectdiff.LiveSides(l.all)
	if err != nil {
		return err
	}
	d.WarnSelectors(before, after)
	l.answers.Diff, l.answers.Consequences = d, forecast.OfLive(d, before, after, used)
	return nil
}

// addNamespaces adds what the namespaces of the changed objects have beside the graphs:
// autoscalers, quotas and default limits. It returns the use of the quotas.
func (l *liveReview) addNamespaces(ctx context.Context) forecast.Used {
	used := forecast.Used{}
	var namespaces []string
	for _, c := range l.changed {
		obj := cmp.Or(c.After, c.Before)
		if obj != nil && obj.GetNamespace() != "" && !slices.Contains(namespaces, obj.GetNamespace()) {
			namespaces = append(namespaces, obj.GetNamespace())
		}
	}
	for _, namespace := range namespaces {
		for _, gvk := range []schema.GroupVersionKind{
			{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
			{Version: "v1", Kind: "ResourceQuota"}, {Version: "v1", Kind: "LimitRange"},
		} {
			objects, err := l.Client.ListObjects(ctx, gvk, namespace, "", "")
			if err != nil {
				text := fmt.Sprintf("objects of kind %s in namespace %s: %v", gvk.Kind, namespace, kube.Error(err))
				l.live.NotAsked = append(l.live.NotAsked, source.OneLine(text, maxReason))
				continue
			}
			for i := range objects {
				l.addBeside(&objects[i], used)
			}
		}
	}
	return used
}

// addBeside adds an object that no plan has.
func (l *liveReview) addBeside(obj *unstructured.Unstructured, used forecast.Used) {
	gvk := obj.GroupVersionKind()
	key := objectdiff.Key{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
	if amounts, ok, _ := unstructured.NestedStringMap(obj.Object, "status", "used"); ok && key.Kind == "ResourceQuota" {
		used[key] = amounts
	}
	if _, planned := l.answers.Exists[key]; !planned {
		l.all = append(l.all, objectdiff.Live{Before: obj, After: obj})
	}
}
