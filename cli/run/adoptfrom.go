package run

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/object"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/execute"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/inventory/foreign"
)

// move is the comparison of graphs with the inventory of another tool.
type move struct {
	record *foreign.Record
	lines  []moveLine
	// complete is set if the graphs take over all objects of the inventory that exist.
	complete bool
}

// moveLine is the fate of one object.
type moveLine struct {
	fate string
	id   object.ObjMetadata
	why  string
}

// parseSources parses the values of --from. namespace is that of references without
// one.
func parseSources(from []string, namespace string) ([]foreign.Source, error) {
	var sources []foreign.Source
	for _, text := range from {
		s, err := foreign.ParseSource(text, namespace)
		if err != nil {
			return nil, fmt.Errorf("--from %w", err)
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// compareWith compares plans with the inventories of sources.
func (o *adoptOptions) compareWith(ctx context.Context, sources []foreign.Source, plans []*applier.Plan) ([]*move, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	reader, err := o.ForeignReader()
	if err != nil {
		return nil, err
	}
	nodes := map[inventory.Key]applier.PlannedNode{}
	for _, plan := range plans {
		for _, n := range plan.Nodes {
			nodes[n.Key] = n
		}
	}
	var moves []*move
	for _, s := range sources {
		record, err := reader.Read(ctx, s)
		if err != nil {
			return nil, kube.Error(err)
		}
		m := &move{record: record, complete: true}
		if err := m.compare(ctx, reader, nodes); err != nil {
			return nil, kube.Error(err)
		}
		moves = append(moves, m)
	}
	return moves, nil
}

// compare determines the fate of each object of the inventory, and then of each object
// that only the graphs have.
func (m *move) compare(ctx context.Context, reader *foreign.Reader, nodes map[inventory.Key]applier.PlannedNode) error {
	live := make([]*unstructured.Unstructured, len(m.record.Objects))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(execute.MaxConcurrent)
	for i, id := range m.record.Objects {
		if _, rendered := nodes[keyOf(id)]; rendered {
			continue // the plan has read it
		}
		g.Go(func() (err error) {
			live[i], err = reader.Live(ctx, id)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	listed := map[inventory.Key]bool{}
	for i, id := range m.record.Objects {
		listed[keyOf(id)] = true
		node, rendered := nodes[keyOf(id)]
		if !rendered {
			m.add(m.leftBehind(id, live[i]))
			m.complete = m.complete && live[i] == nil
			continue
		}
		m.add(inBoth(id, node))
	}
	for key, node := range nodes {
		if !listed[key] && node.Op != "" {
			if line, ok := m.onlyRendered(key, node); ok {
				m.add(line)
			}
		}
	}
	sortLines(m.lines)
	return nil
}

func (m *move) add(line moveLine) { m.lines = append(m.lines, line) }

// leftBehind returns the fate of an object of the inventory that no graph renders.
func (m *move) leftBehind(id object.ObjMetadata, live *unstructured.Unstructured) moveLine {
	tool := m.record.Source.Tool
	switch {
	case live == nil:
		return moveLine{"gone", id, "no longer exists"}
	case foreign.KeptBy(tool, live) != "":
		return moveLine{"left behind", id, fmt.Sprintf("is in no graph; %s keeps it because of %s", tool.Title(), foreign.KeptBy(tool, live))}
	case m.record.Keeps != "":
		return moveLine{"left behind", id, fmt.Sprintf("is in no graph; %s keeps it because %s", tool.Title(), m.record.Keeps)}
	}
	return moveLine{"pruned", id, fmt.Sprintf("is in no graph; %s deletes it unless you %s", tool.Title(), foreign.KeepHint(tool))}
}

// inBoth returns the fate of an object that the inventory and a graph have.
func inBoth(id object.ObjMetadata, n applier.PlannedNode) moveLine {
	switch {
	case n.Adopts && n.PreviousOwner != nil:
		return moveLine{"taken over", id, fmt.Sprintf("belongs to graph %s, which loses it", n.PreviousOwner)}
	case n.Adopts:
		return moveLine{"taken over", id, ""}
	case n.Failure != nil:
		return moveLine{"not checked", id, n.Failure.Error()}
	case n.Live == nil:
		return moveLine{"created", id, "no longer exists"}
	}
	return moveLine{"owned already", id, ""}
}

// onlyRendered returns the fate of an object that only a graph has. It returns false
// for an object that the graph owns already.
func (m *move) onlyRendered(key inventory.Key, n applier.PlannedNode) (moveLine, bool) {
	id := object.ObjMetadata{GroupKind: schema.GroupKind{Group: key.Group, Kind: key.Kind}, Namespace: key.Namespace, Name: key.Name}
	switch {
	case n.Adopts:
		return moveLine{"not listed", id, fmt.Sprintf("exists, but %s doesn't own it; 'pequod adopt' without --from lists it", m.record.Source.Tool.Title())}, true
	case n.Live == nil:
		return moveLine{"created", id, fmt.Sprintf("%s doesn't have it", m.record.Source.Tool.Title())}, true
	}
	return moveLine{}, false
}

// owns reports whether one of the inventories has an object.
func owns(moves []*move, key inventory.Key) bool {
	for _, m := range moves {
		for _, id := range m.record.Objects {
			if keyOf(id) == key {
				return true
			}
		}
	}
	return false
}

// print writes the comparison as a table, with the next step below it.
func (m *move) print(w io.Writer) error {
	r := m.record
	fmt.Fprintf(w, "Objects of %s (%s): %d\n", r.Source, r.Source.Tool.Title(), len(r.Objects))
	for _, l := range m.lines {
		line := fmt.Sprintf("  %-13s  %s", l.fate, foreign.Text(l.id))
		if l.why != "" {
			line += ": " + source.Escape(l.why, "")
		}
		fmt.Fprintln(w, line)
	}
	for _, note := range r.Notes {
		fmt.Fprintln(w, "note: "+source.Escape(note, ""))
	}
	_, err := fmt.Fprintf(w, "next: %s\n", strings.Join(m.steps(), ", then "))
	return err
}

// steps are what is left to do, in the order that deletes nothing.
func (m *move) steps() []string {
	var steps []string
	if !m.complete {
		steps = append(steps, "decide about the objects that are in no graph")
	}
	if m.record.Stop != "" && m.record.Keeps == "" {
		steps = append(steps, m.record.Stop)
	}
	return append(steps, "apply the graph", m.record.Cleanup)
}

func keyOf(id object.ObjMetadata) inventory.Key {
	return inventory.Key{Group: id.GroupKind.Group, Kind: id.GroupKind.Kind, Namespace: id.Namespace, Name: id.Name}
}

// fates are all fates, in the order in which they are shown.
var fates = []string{"taken over", "owned already", "created", "pruned", "left behind", "gone", "not listed", "not checked"}

// sortLines sorts lines by fate and then by object.
func sortLines(lines []moveLine) {
	slices.SortFunc(lines, func(a, b moveLine) int {
		return cmp.Or(cmp.Compare(slices.Index(fates, a.fate), slices.Index(fates, b.fate)), strings.Compare(foreign.Text(a.id), foreign.Text(b.id)))
	})
}
