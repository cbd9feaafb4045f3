package statusview_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/cli/statusview"
	"github.com/pequod-io/pequod/inventory"
)

func states() []*applier.State {
	node := func(id, kind, namespace, name string, wave int, phase v1alpha1.NodePhase, message string, needs ...string) applier.NodeState {
		key := inventory.Key{Kind: kind, Namespace: namespace, Name: name}
		if kind == "Deployment" {
			key.Group = "apps"
		}
		return applier.NodeState{
			Status: engine.Status{ID: id, Key: key, Version: "v1", Wave: wave, Phase: phase, Message: message},
			Needs:  needs,
		}
	}
	return []*applier.State{{
		Owner: inventory.Owner{Namespace: "shop", Name: "web"}, Source: applier.SourceGiven,
		Nodes: []applier.NodeState{
			// The nodes are not sorted by wave.
			node("deployment", "Deployment", "shop", "web", 1, v1alpha1.NodeProgressing, "0 of 2 available: \x1b[31mno", "config"),
			node("config", "ConfigMap", "shop", "web", 0, v1alpha1.NodeReady, ""),
			node("space", "Namespace", "", "other", 0, v1alpha1.NodeReady, ""),
			node("inside", "ConfigMap", "other", "x", 2, v1alpha1.NodeBlocked, "waits for deployment", "space", "deployment"),
			node("", "Secret", "shop", "old", 0, v1alpha1.NodePending, "left the graph; the next apply removes it"),
		},
		Outputs:      map[string]any{"url": "http://web", "ports": []any{int64(80)}},
		OutputErrors: map[string]error{"ip": &resolve.WaitError{Path: "outputs.ip", Message: "waits for service.status"}, "odd": errors.New("is odd")},
	}, {
		Owner: inventory.Owner{Namespace: "shop", Name: "db"}, Source: applier.SourceInventory, Ready: true,
		Nodes: []applier.NodeState{node("claim", "PersistentVolumeClaim", "shop", "db", 0, v1alpha1.NodeReady, "")},
	}}
}

func TestTreeText(t *testing.T) {
	tests := map[string]struct {
		tree statusview.Tree
		want string
	}{
		"text": {statusview.Tree{}, `shop/web: not ready, 2 of 5 ready
wave 1
├── config      ConfigMap/web         ready
└── space       Namespace/other       ready
wave 2
└── deployment  Deployment/web        progressing  0 of 2 available: \x1b[31mno
wave 3
└── inside      ConfigMap/x in other  blocked      waits for deployment
left the graph
└──             Secret/old            pending      left the graph; the next apply removes it

shop/db: ready, 1 of 1 ready (from the inventory of the last run)
wave 1
└── claim  PersistentVolumeClaim/db  ready
`},
		"wide": {statusview.Tree{Wide: true}, `shop/web: not ready, 2 of 5 ready
wave 1
├── config      v1 ConfigMap shop/web        ready
└── space       v1 Namespace other           ready
wave 2
└── deployment  apps/v1 Deployment shop/web  progressing  ← config             0 of 2 available: \x1b[31mno
wave 3
└── inside      v1 ConfigMap other/x         blocked      ← space, deployment  waits for deployment
left the graph
└──             v1 Secret shop/old           pending                           left the graph; the next apply removes it
outputs
├── ip: (waits for service.status)
├── odd: (is odd)
├── ports: [80]
└── url: http://web

shop/db: ready, 1 of 1 ready (from the inventory of the last run)
wave 1
└── claim  v1 PersistentVolumeClaim shop/db  ready
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			text := statusview.TreeText(statusview.NewReport(states()), test.tree)
			if diff := cmp.Diff(test.want, text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTreeTextColor(t *testing.T) {
	text := statusview.TreeText(statusview.NewReport(states()[1:]), statusview.Tree{Color: true})
	want := "\x1b[1mshop/db\x1b[m: \x1b[32mready\x1b[m, 1 of 1 ready (from the inventory of the last run)\n" +
		"\x1b[2mwave 1\x1b[m\n└── claim  PersistentVolumeClaim/db  \x1b[32mready\x1b[m\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The title tells a run in progress from one that was interrupted and is only in
// the inventory.
func TestUnfinished(t *testing.T) {
	for source, want := range map[applier.Source]string{
		applier.SourceCluster:   "(a run is in progress, or was interrupted)",
		applier.SourceGiven:     "(a run is in progress, or was interrupted)",
		applier.SourceInventory: "(from the inventory of a run that did not finish)",
	} {
		s := states()[1]
		s.Ready, s.Unfinished, s.Source, s.Cause = false, true, source, "no\nway"
		text := statusview.TreeText(statusview.NewReport([]*applier.State{s}), statusview.Tree{})
		if got, _, _ := strings.Cut(text, "\n"); got != "shop/db: not ready, 1 of 1 ready "+want+"; no\\nway" {
			t.Errorf("%s: %s", source, got)
		}
	}
}

func TestWriteDOT(t *testing.T) {
	report := statusview.NewReport(states()[:1])
	report.Graphs[0].Nodes = report.Graphs[0].Nodes[:2]
	report.Graphs[0].Nodes[0].Message = `says "no\"`
	var b bytes.Buffer
	if err := statusview.WriteDOT(&b, report); err != nil {
		t.Fatal(err)
	}
	want := `digraph pequod {
  rankdir=TB;
  node [shape=box, style=filled];
  subgraph cluster_1 {
    label="shop/web";
    n1_1 [label="deployment\nDeployment/web\nprogressing\nsays \"no\\\"", fillcolor=khaki];
    n1_2 [label="config\nConfigMap/web\nready", fillcolor=palegreen];
    n1_2 -> n1_1;
  }
}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An arrow that others imply is left out of DOT and of the wide tree. JSON has it.
func TestImpliedArrow(t *testing.T) {
	all := states()[:1]
	inside := &all[0].Nodes[3]
	inside.Needs = append(inside.Needs, "config") // the deployment waits for it, too
	report := statusview.NewReport(all)
	var dot bytes.Buffer
	if err := statusview.WriteDOT(&dot, report); err != nil {
		t.Fatal(err)
	}
	tree := statusview.TreeText(report, statusview.Tree{Wide: true})
	if got := strings.Count(dot.String(), "->"); got != 3 {
		t.Errorf("%d arrows; want 3 in:\n%s", got, dot.String())
	}
	if !strings.Contains(tree, "← space, deployment ") {
		t.Errorf("the tree has other arrows:\n%s", tree)
	}
	if got := report.Graphs[0].Nodes[3].Needs; len(got) != 3 {
		t.Errorf("the report has the dependencies %v", got)
	}
}

// A graph that is too large for a drawing is one box.
func TestTooLarge(t *testing.T) {
	g := statusview.Graph{}
	for i := range 460 {
		n := statusview.Node{ID: fmt.Sprint("n", i)}
		for k := range 230 {
			if i >= 230 {
				n.Needs = append(n.Needs, fmt.Sprint("n", k))
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	var b bytes.Buffer
	if err := statusview.WriteDOT(&b, statusview.Report{Graphs: []statusview.Graph{g}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `[label="Too large for a drawing: 460 nodes with 52900 arrows.\n-o json has all nodes and dependencies."];`) || b.Len() > 300 {
		t.Errorf("%d bytes: %.300s", b.Len(), b.String())
	}
}

func TestReport(t *testing.T) {
	got, err := json.Marshal(statusview.NewReport(states()[1:]))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"graphs":[{"namespace":"shop","name":"db","source":"inventory","ready":true,"nodes":[` +
		`{"id":"claim","wave":1,"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"shop","name":"db","phase":"Ready"}]}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
