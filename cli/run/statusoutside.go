package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/internal/source"
)

// outsideKinds are the kinds that pequod-actions executes.
var outsideKinds = []string{"Action", "Monitor", "Receiver"}

// outsideReader reads what pequod-actions executes.
type outsideReader struct {
	client *cluster.Client
	env    command.Env

	mu    sync.Mutex // guards the rest
	found statusview.Outside
	code  int
}

// namespace reads all objects of a namespace, "" means all. The exit code is ExitUnknown if some
// couldn't be read for another reason than a missing right. A cluster that doesn't serve a kind
// has none of it.
func (r *outsideReader) namespace(ctx context.Context, namespace string) (statusview.Outside, int) {
	var group sync.WaitGroup
	for _, kind := range outsideKinds {
		group.Go(func() { r.read(ctx, kind, namespace, func(string) bool { return true }) })
	}
	group.Wait()
	r.found.Sort()
	return r.found, r.code
}

// nodes reads the objects that are nodes of graphs.
func (r *outsideReader) nodes(ctx context.Context, states []*applier.State) (statusview.Outside, int) {
	type collection struct{ kind, namespace string }
	wanted := map[collection]map[string]bool{}
	for _, state := range states {
		if state.Source == applier.SourceReported {
			continue // they are in another cluster
		}
		for _, n := range state.Nodes {
			if n.Key.Group != v1alpha1.Group || !slices.Contains(outsideKinds, n.Key.Kind) {
				continue
			}
			c := collection{n.Key.Kind, n.Key.Namespace}
			if wanted[c] == nil {
				wanted[c] = map[string]bool{}
			}
			wanted[c][n.Key.Name] = true
		}
	}
	var group sync.WaitGroup
	for c, names := range wanted {
		group.Go(func() { r.read(ctx, c.kind, c.namespace, func(name string) bool { return names[name] }) })
	}
	group.Wait()
	r.found.Sort()
	return r.found, r.code
}

// read lists the objects of a kind, and keeps those that are wanted.
func (r *outsideReader) read(ctx context.Context, kind, namespace string, wanted func(name string) bool) {
	var broken error
	err := r.client.ListPages(ctx, cluster.Selection{GVK: v1alpha1.GroupVersion.WithKind(kind), Namespace: namespace}, func(page []unstructured.Unstructured) {
		for i := range page {
			if !wanted(page[i].GetName()) {
				continue
			}
			row, err := statusview.NewRow(&page[i], false)
			if err != nil {
				name := types.NamespacedName{Namespace: page[i].GetNamespace(), Name: page[i].GetName()}
				broken = errors.Join(broken, fmt.Errorf("%s %s: %w", kind, name, err))
				continue
			}
			r.mu.Lock()
			r.found.Add(row)
			r.mu.Unlock()
		}
	})
	var noKind *cluster.NoKindError
	switch {
	case errors.As(err, &noKind):
		err = nil
	case apierrors.IsForbidden(err):
		r.print(command.ExitOK, fmt.Errorf("%ss are not shown: %w", kind, kube.Error(err)))
		err = nil
	case err != nil:
		err = fmt.Errorf("%ss: %w", kind, kube.Error(err))
	}
	for _, err := range command.FlattenErrors(errors.Join(err, broken)) {
		r.print(command.ExitUnknown, err)
	}
}

// print prints an error that leaves the rest of the answer as it is.
func (r *outsideReader) print(code int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.code = max(r.code, code)
	fmt.Fprintln(r.env.Err, "pequod: "+source.Escape(err.Error(), ""))
}
