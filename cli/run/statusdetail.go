package run

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/inventory"
)

// errNoObject means that the cluster has no such object.
var errNoObject = errors.New("there is no such object")

// objectError returns an error about one of outsideKinds.
func objectError(key inventory.Key, err error) error {
	var noKind *cluster.NoKindError
	if errors.As(err, &noKind) {
		err = fmt.Errorf("the cluster has no %ss; 'pequod install --mode actions' installs pequod-actions", key.Kind)
	}
	return fmt.Errorf("%s %s/%s: %w", key.Kind, key.Namespace, key.Name, kube.Error(err))
}

// details reads named objects in full. The first error ends it: half an answer would look like
// a complete one.
func details(ctx context.Context, client *cluster.Client, keys []inventory.Key) (statusview.Outside, error) {
	found := make([]statusview.Outside, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(execute.MaxConcurrent)
	for i, key := range keys {
		g.Go(func() error {
			obj, err := client.Get(ctx, key, v1alpha1.GroupVersion.Version)
			if err == nil && obj == nil {
				err = errNoObject
			}
			if err == nil {
				found[i], err = detail(obj)
			}
			if err != nil {
				return objectError(key, err)
			}
			return nil
		})
	}
	err := g.Wait()
	var all statusview.Outside
	for _, o := range found {
		all.Add(o)
	}
	return all, err
}

// detail returns an object with everything that is shown of one.
func detail(obj *unstructured.Unstructured) (o statusview.Outside, err error) {
	decode := func(into any) error {
		return runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into)
	}
	switch obj.GetKind() {
	case "Action":
		var a v1alpha1.Action
		if err = decode(&a); err == nil {
			o.Actions = append(o.Actions, statusview.DetailAction(&a))
		}
	case "Monitor":
		var m v1alpha1.Monitor
		if err = decode(&m); err == nil {
			o.Monitors = append(o.Monitors, statusview.DetailMonitor(&m))
		}
	case "Receiver":
		var r v1alpha1.Receiver
		if err = decode(&r); err == nil {
			o.Receivers = append(o.Receivers, statusview.DetailReceiver(&r))
		}
	}
	return o, err
}
