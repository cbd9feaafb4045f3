package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/fluxowner"
	"github.com/pequod-io/pequod/inventory"
)

// executedGraphs returns the ResourceGraphs that a controller in the cluster executes, nil for
// a graph that none executes. The order is that of owners. A graph that can't be read is an
// error: the run could fight a controller in silence. Errors of the connection are as the client
// returns them, see [kube.Error].
func executedGraphs(ctx context.Context, a *applier.Applier, owners []inventory.Owner) ([]*v1alpha1.ResourceGraph, error) {
	executed := make([]*v1alpha1.ResourceGraph, len(owners))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(execute.MaxConcurrent)
	for i, owner := range owners {
		g.Go(func() error {
			var rg *v1alpha1.ResourceGraph
			err := cluster.Retry(ctx, func() (err error) {
				rg, err = a.StoredGraph(ctx, owner)
				return err
			})
			switch {
			case apierrors.IsForbidden(err):
				return fmt.Errorf("%w; whether a controller executes the graph is unknown: get the right to read ResourceGraphs, or skip the check with --force", err)
			case err != nil:
				return err
			case rg != nil && isExecuted(rg) && rg.Spec.KubeConfig == nil: // others are refused anyway
				executed[i] = rg
			}
			return nil
		})
	}
	return executed, g.Wait()
}

// isExecuted reports whether a controller executes a graph. The finalizer and the observed
// generation are written by controllers only. A suspended graph is left alone by them.
func isExecuted(rg *v1alpha1.ResourceGraph) bool {
	if rg.Spec.Suspend || rg.Labels[v1alpha1.LabelPaused] == "true" {
		return false
	}
	return slices.Contains(rg.Finalizers, v1alpha1.Finalizer) || rg.Status.ObservedGeneration > 0
}

// byManager reports whether pequod-manager made a graph from an instance.
func byManager(rg *v1alpha1.ResourceGraph) bool { return rg.Labels[v1alpha1.LabelOperator] != "" }

// executor returns who executes a graph, and how far.
func executor(rg *v1alpha1.ResourceGraph) string {
	program, verb := "pequod-applier", "executes"
	if rg.Labels[v1alpha1.LabelOperator] == v1alpha1.OperatorExecutes {
		program = v1alpha1.ManagerProgram
	}
	if rg.DeletionTimestamp != nil {
		verb = "deletes"
	}
	return fmt.Sprintf("%s %s graph %s/%s in the cluster", program, verb, rg.Namespace, rg.Name)
}

// origin returns the object whose author decides what a graph contains, as kubectl names it. If
// Flux applies the object, the text names the object of Flux.
func origin(rg *v1alpha1.ResourceGraph) string {
	name := "resourcegraph/" + rg.Name
	if byManager(rg) {
		name = kube.ResourceName("", rg.Spec.SourceRef.Kind, rg.Spec.SourceRef.Name)
	}
	name += " -n " + rg.Namespace
	if by := cmp.Or(rg.Annotations[v1alpha1.AnnotationAppliedBy], fluxowner.Text(rg.Labels)); by != "" {
		name += " (applied by " + by + ")"
	}
	return name
}

// pause returns the command that pauses a graph.
func pause(rg *v1alpha1.ResourceGraph) string {
	return fmt.Sprintf("'kubectl label resourcegraph %s -n %s %s=true'", rg.Name, rg.Namespace, v1alpha1.LabelPaused)
}

// refuseApply returns why a graph that a controller executes isn't applied, and what to do instead.
func refuseApply(rg *v1alpha1.ResourceGraph) string {
	text := executor(rg) + ", and would undo this apply; change " + origin(rg) + " instead"
	if !byManager(rg) {
		text += ", or pause the graph with " + pause(rg)
	}
	return text + "; --force applies all the same"
}

// refuseDelete returns why a graph that a controller executes isn't deleted, and what to do instead.
func refuseDelete(rg *v1alpha1.ResourceGraph, orphan bool) string {
	text := executor(rg) + ", and would create the objects again; "
	switch {
	case rg.DeletionTimestamp != nil:
		text = executor(rg) + " already"
	case orphan && !byManager(rg):
		text += "pause the graph with " + pause(rg) + ", and release its objects then"
	default:
		text += "delete " + origin(rg) + " instead"
		if !byManager(rg) {
			text += ", for example with --yes"
		}
	}
	return text + "; --force deletes all the same"
}
