package run

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

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
	found := make([]statusview.Row, len(keys))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(execute.MaxConcurrent)
	for i, key := range keys {
		g.Go(func() error {
			obj, err := client.Get(ctx, key, v1alpha1.GroupVersion.Version)
			if err == nil && obj == nil {
				err = errNoObject
			}
			if err == nil {
				found[i], err = statusview.NewRow(obj, true)
			}
			if err != nil {
				return objectError(key, err)
			}
			return nil
		})
	}
	var all statusview.Outside
	if err := g.Wait(); err != nil {
		return all, err
	}
	all.Add(found...)
	return all, nil
}
