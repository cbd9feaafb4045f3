package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
)

// maxObserved is the number of graphs that are observed at the same time.
const maxObserved = 8

// List returns the graphs of a namespace once, "" for all, those that need attention first. The
// objects of graphs without a ResourceGraph are read, because nothing else tells whether they are
// ready. The error has everything that couldn't be read; the rest is returned with it.
func List(ctx context.Context, a *applier.Applier, namespace string) ([]Summary, error) {
	c := New(a, namespace, nil)
	var failed []error
	for o, from := range c.places() {
		err := a.Client.ListPages(ctx, from.selection, func(page []unstructured.Unstructured) {
			for i := range page {
				summary, err := from.read(ctx, &page[i])
				if err != nil {
					owner := ownerOf(&page[i])
					failed = append(failed, fmt.Errorf("graph %s: %w", owner, err))
					continue
				}
				c.known[o][summary.owner()] = summary
			}
		})
		var noKind *cluster.NoKindError
		if err != nil && !errors.As(err, &noKind) {
			what := [...]string{fromGraphs: "ResourceGraphs", fromInventories: "inventories (ConfigMaps)"}[o]
			failed = append(failed, fmt.Errorf("%s are not shown: %w", what, err))
		}
	}
	graphs := c.difference(&View{}).Graphs
	if err := observe(ctx, a, graphs); err != nil {
		failed = append(failed, err)
	}
	slices.SortStableFunc(graphs, Summary.compareUrgency)
	return graphs, errors.Join(failed...)
}

// observe completes the summaries of graphs without a ResourceGraph.
func observe(ctx context.Context, a *applier.Applier, graphs []Summary) error {
	var g errgroup.Group
	g.SetLimit(maxObserved)
	var mu sync.Mutex // guards failed
	var failed []error
	for i := range graphs {
		s := &graphs[i]
		if s.Ready >= 0 {
			continue
		}
		g.Go(func() error {
			state, err := a.StatusOf(ctx, s.owner())
			if err == nil {
				s.Observe(state)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, err)
			return nil
		})
	}
	_ = g.Wait() // never an error, see above
	return errors.Join(failed...)
}
