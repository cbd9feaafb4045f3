package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/source"
)

// deleteInstead deletes the ResourceGraphs of graphs that a controller executes, if the user agrees:
// the controller then deletes their objects. Otherwise it returns why the graphs aren't
// deleted. A graph of an instance is refused in any case, because its instance would make it again.
func (o *deleteOptions) deleteInstead(ctx context.Context, env command.Env, client *cluster.Client, executed []*v1alpha1.ResourceGraph) error {
	refusal := command.ExitError{Code: command.ExitNo}
	possible := !o.orphan && o.dryRun == "none"
	for _, rg := range executed {
		refusal.Causes = append(refusal.Causes, errors.New(source.Escape(refuseDelete(rg, o.orphan), "")))
		possible = possible && !byManager(rg) && rg.DeletionTimestamp == nil
	}
	if !possible || !o.yes && !command.Interactive(env) {
		return refusal
	}
	for _, rg := range executed {
		if o.yes {
			break
		}
		question := fmt.Sprintf("pequod-applier executes graph %s/%s. Delete its ResourceGraph, so that pequod-applier deletes the objects?", rg.Namespace, rg.Name)
		yes, err := command.Confirm(ctx, env, "delete", question)
		if err != nil {
			return err
		}
		if !yes {
			return refusal
		}
	}
	for _, rg := range executed {
		if err := deleteGraph(ctx, client, rg); err != nil {
			return kube.Error(err)
		}
		fmt.Fprintf(env.Err, "%s deletion requested\n", graphName(rg.Name))
	}
	if !o.Wait {
		return nil
	}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.Timeout, errNotHandled)
		defer cancel()
	}
	for _, rg := range executed {
		if err := awaitDeletion(ctx, client, rg, o.Timeout); err != nil {
			return err
		}
		fmt.Fprintf(env.Err, "%s deleted\n", graphName(rg.Name))
	}
	return nil
}

// deleteGraph requests the deletion of a ResourceGraph. One that is gone is no error.
func deleteGraph(ctx context.Context, client *cluster.Client, rg *v1alpha1.ResourceGraph) error {
	body, err := json.Marshal(metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, Preconditions: metav1.NewUIDPreconditions(string(rg.UID)),
	})
	if err != nil {
		return err
	}
	err = client.REST().Delete().AbsPath("/apis", v1alpha1.Group, v1alpha1.Version, "namespaces", rg.Namespace, "resourcegraphs", rg.Name).
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// awaitDeletion waits until a ResourceGraph is gone. If the time runs out, the error has the message
// of its condition Ready, which names the objects that are left.
func awaitDeletion(ctx context.Context, client *cluster.Client, rg *v1alpha1.ResourceGraph, timeout time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events := make(chan cluster.Event)
	go client.Watch(ctx, cluster.Selection{
		GVK: v1alpha1.GroupVersion.WithKind("ResourceGraph"), Namespace: rg.Namespace, Name: rg.Name,
	}, events)
	last := "the cluster did not answer"
	for {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errNotHandled) {
				return command.ExitError{Code: command.ExitNo, Causes: []error{
					fmt.Errorf("graph %s/%s: not deleted after %s (--timeout): %s", rg.Namespace, rg.Name, timeout, source.Escape(last, "")),
				}}
			}
			return context.Cause(ctx)
		case ev := <-events:
			obj := ev.Object
			if ev.Listing != nil {
				obj = only(ev.Listing)
			}
			if obj == nil || ev.Deleted || obj.GetUID() != rg.UID {
				return nil
			}
			last = readyMessage(obj)
		}
	}
}

// readyMessage returns the message of the condition Ready of an object.
func readyMessage(obj *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == v1alpha1.ConditionReady {
			message, _ := c["message"].(string)
			return message
		}
	}
	return "the applier has not begun"
}
