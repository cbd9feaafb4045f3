package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/cli/progress"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/cli/ui/catalog"
	"github.com/pequod-io/pequod/cli/ui/page"
	"github.com/pequod-io/pequod/cli/ui/server"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/inventory"
)

// pageSource is the content of the page. It implements [server.Source].
type pageSource struct {
	applier *applier.Applier
	catalog *catalog.Catalog
	files   *files
	// cluster, namespace and names are for the heading: of the cluster, of the graphs, ""
	// for all, and of the files.
	cluster, namespace string
	names              []string
}

// Page implements [server.Source].
func (s *pageSource) Page(w io.Writer) error {
	return page.Write(w, page.Shell{Cluster: s.cluster, Namespace: s.namespace, Files: s.names})
}

// List implements [server.Source]. The first event replaces the list of the page, which may
// have read another stream before.
func (s *pageSource) List(ctx context.Context, send server.Send) error {
	var v catalog.View
	for event := "reset"; ; event = "update" {
		u, err := s.catalog.Next(ctx, &v)
		if err != nil {
			return err
		}
		if err := send(event, u); err != nil {
			return err
		}
		catalog.Pause(ctx)
	}
}

// retryEvery is the pause before a graph that can't be read, or doesn't exist, is read
// again.
const retryEvery = 2 * time.Second

// Graph implements [server.Source].
func (s *pageSource) Graph(ctx context.Context, namespace, name string, send server.Send) error {
	if err := kube.CheckNames(namespace, []string{name}); err != nil {
		return send("problem", err.Error())
	}
	owner := inventory.Owner{Namespace: namespace, Name: name}
	v := graphView{source: s, owner: owner, send: send, sent: map[string]string{}}
	v.lines = progress.NewStates(&v.said, false)
	for {
		err := s.applier.Follow(ctx, owner, nil, func(state *applier.State, err error) bool {
			return v.show(ctx, state, err) == nil
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil: // the page is closed
			return nil
		case errors.Is(err, applier.ErrNoGraph):
			v.sent = map[string]string{}
			err = send("gone", fmt.Sprintf("The cluster has no graph %s.", owner))
		default:
			err = v.problem(err)
		}
		if err != nil {
			return err
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Diff implements [server.Source].
func (s *pageSource) Diff(ctx context.Context, namespace, name string, w io.Writer) error {
	return s.files.diff(ctx, s.applier, inventory.Owner{Namespace: namespace, Name: name}, w)
}

// graphView has the parts of a graph that one page was sent.
type graphView struct {
	source *pageSource
	owner  inventory.Owner
	send   server.Send
	sent   map[string]string // HTML by section
	// lines writes the changes to said, as pequod status -w prints them.
	lines   *progress.States
	said    strings.Builder
	trouble string
}

// show sends the parts of the page that differ from those that were sent.
func (v *graphView) show(ctx context.Context, state *applier.State, err error) error {
	if err != nil {
		return v.problem(err)
	}
	sections, err := page.Of(v.source.describe(ctx, v.owner, state))
	if err != nil {
		return err
	}
	first := len(v.sent) == 0
	changed := slices.DeleteFunc(sections, func(s page.Section) bool {
		same := v.sent[s.ID] == string(s.HTML)
		v.sent[s.ID] = string(s.HTML)
		return same && !first
	})
	if len(changed) > 0 {
		if err := v.send("sections", changed); err != nil {
			return err
		}
	}
	if v.trouble != "" {
		v.trouble = ""
		if err := v.send("problem", ""); err != nil {
			return err
		}
	}
	v.said.Reset()
	v.lines.Show(state)
	if said := strings.TrimSpace(v.said.String()); said != "" && !first {
		return v.send("said", source.OneLine(said, maxSaid))
	}
	return nil
}

// maxSaid limits the text that is read out, in bytes.
const maxSaid = 300

// problem sends the reason why the graph can't be read, once.
func (v *graphView) problem(err error) error {
	text := source.OneLine(kube.Error(err).Error(), maxProblem) + "; trying again"
	if text == v.trouble {
		return nil
	}
	v.trouble = text
	return v.send("problem", text)
}

const maxProblem = 1000

// describe returns all that the page shows of a graph. What can't be read is replaced by
// the reason.
func (s *pageSource) describe(ctx context.Context, owner inventory.Owner, state *applier.State) page.Graph {
	g := page.Graph{Graph: statusview.NewReport([]*applier.State{state}).Graphs[0]}
	history, err := s.applier.History(ctx, owner)
	switch {
	case errors.Is(err, applier.ErrNoHistory), errors.Is(err, applier.ErrNoGraph):
		g.NoHistory = "The history of a graph is kept by the applier in the cluster, which has no ResourceGraph of this name."
	case err != nil:
		g.NoHistory = source.OneLine(kube.Error(err).Error(), maxProblem)
	}
	slices.Reverse(history)
	g.History = history
	events, err := s.events(ctx, owner)
	if err != nil {
		g.NoEvents = source.OneLine(kube.Error(err).Error(), maxProblem)
	}
	g.Events, g.AllEvents = events[:min(len(events), maxEvents)], len(events)
	return g
}

// maxEvents is the number of Events that the page shows.
const maxEvents = 50

// events returns the Events of a graph, newest first.
func (s *pageSource) events(ctx context.Context, owner inventory.Owner) ([]page.Event, error) {
	objects, err := s.applier.Client.ListObjects(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Event"}, owner.Namespace, "",
		"involvedObject.kind=ResourceGraph,involvedObject.name="+owner.Name)
	if err != nil {
		return nil, err
	}
	var events []page.Event
	for i := range objects {
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[i].Object, &e); err != nil {
			return nil, err
		}
		shown := page.Event{Time: e.CreationTimestamp.Time, Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message, Count: e.Count}
		// The two Event APIs use different fields.
		for _, t := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time} {
			if t.After(shown.Time) {
				shown.Time = t
			}
		}
		if e.Series != nil {
			shown.Time, shown.Count = e.Series.LastObservedTime.Time, e.Series.Count
		}
		events = append(events, shown)
	}
	slices.SortStableFunc(events, func(a, b page.Event) int { return b.Time.Compare(a.Time) })
	return events, nil
}
