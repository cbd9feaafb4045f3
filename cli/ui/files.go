package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/inventory"
	htmlreport "github.com/pequod-io/pequod/review/html"
)

// files are the files of -f. The zero number of files has no graphs.
type files struct {
	flags    *input.RenderFlags
	env      command.Env
	fallback func() *cluster.Fallback

	// mu lets one comparison at a time render: it uses all processors.
	mu sync.Mutex
	// stdin has the graphs if one of the files is stdin, which can't be read again.
	stdin []input.Graph
}

// owners reads the files for the first time and returns their graphs.
func (f *files) owners(ctx context.Context) ([]inventory.Owner, error) {
	if len(f.flags.Filenames) == 0 {
		return nil, nil
	}
	graphs, err := f.flags.ReadGraphs(ctx, f.env)
	if err != nil {
		return nil, err
	}
	if slices.Contains(f.flags.Filenames, "-") {
		f.stdin = graphs
	}
	var owners []inventory.Owner
	for _, g := range graphs {
		owners = append(owners, inventory.Owner{Namespace: g.Namespace, Name: g.Name})
	}
	return owners, nil
}

// read returns the graphs as the files are now. The error has the problems of the files.
func (f *files) read(ctx context.Context) ([]input.Graph, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stdin != nil || len(f.flags.Filenames) == 0 {
		return f.stdin, nil
	}
	var problems bytes.Buffer
	env := f.env
	env.Err = &problems
	graphs, err := f.flags.ReadGraphs(ctx, env)
	var exit command.ExitError
	if errors.As(err, &exit) {
		return nil, errors.New(strings.TrimSpace(problems.String()))
	}
	return graphs, err
}

// diff writes what an apply of a graph of the files would change, as part of a page.
func (f *files) diff(ctx context.Context, a *applier.Applier, owner inventory.Owner, w io.Writer) error {
	graphs, err := f.read(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(graphs, func(g input.Graph) bool { return g.Namespace == owner.Namespace && g.Name == owner.Name })
	if at < 0 {
		return fmt.Errorf("the files have no graph %s", owner)
	}
	opts := applier.PlanOptions{Fallback: f.fallback()}
	opts.Prune, opts.Siblings = true, siblings(graphs, at)
	plans, err := execute.PlanEach(ctx, a, graphs[at:at+1], opts)
	if err != nil {
		return kube.Error(err)
	}
	d, consequences, err := execute.LiveDiff(plans)
	if err != nil {
		return err
	}
	var notes bytes.Buffer
	kube.PrintFallback(&notes, opts.Fallback)
	execute.PrintObstacles(&notes, plans, func(n applier.PlannedNode) bool { return n.Live == nil && n.Object == nil })
	var b bytes.Buffer
	for line := range strings.Lines(notes.String()) {
		fmt.Fprintf(&b, "<p class=\"soft\">%s</p>\n", html.EscapeString(strings.TrimPrefix(strings.TrimSpace(line), "pequod: ")))
	}
	if err := htmlreport.WriteChanges(&b, d, consequences); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// siblings returns all graphs but one.
func siblings(graphs []input.Graph, but int) []*v1alpha1.ResourceGraph {
	var others []*v1alpha1.ResourceGraph
	for i, g := range graphs {
		if i != but {
			others = append(others, g.ResourceGraph)
		}
	}
	return others
}
