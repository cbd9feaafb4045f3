package progress

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/inventory"
)

var update = flag.Bool("update", false, "rewrite the expected output")

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	shop  = inventory.Owner{Namespace: "shop", Name: "web-1234abcd"}
)

func key(group, kind, name string) inventory.Key {
	return inventory.Key{Group: group, Kind: kind, Namespace: "shop", Name: name}
}

func web() []Graph {
	return []Graph{{Owner: shop, Source: "WebService shop/web", Nodes: []Node{
		{"config", key("", "ConfigMap", "web"), 0},
		{"service", key("", "Service", "web"), 0},
		{"deployment", key("apps", "Deployment", "web"), 1},
		{"ingress", key("networking.k8s.io", "Ingress", "web"), 2},
	}}}
}

// at returns an event, with a time in seconds after the start.
func at(seconds float64, s engine.Status) applier.Event {
	return applier.Event{Time: start.Add(time.Duration(seconds * float64(time.Second))), Status: s}
}

func node(id string, phase v1alpha1.NodePhase, op engine.Operation, message string) engine.Status {
	s := engine.Status{ID: id, Phase: phase, Op: op, Message: message, Version: "v1"}
	for _, n := range web()[0].Nodes {
		if n.ID == id {
			s.Key, s.Wave = n.Key, n.Wave
		}
	}
	return s
}

func object(k inventory.Key, phase v1alpha1.NodePhase, op engine.Operation, message string) engine.Status {
	return engine.Status{Key: k, Version: "v1", Phase: phase, Op: op, Message: message}
}

// history returns the events of an apply with a retried failure, a Deployment that
// takes time to become ready, and an object that left the graph.
func history() []applier.Event {
	failing := node("service", v1alpha1.NodeFailed, "", "the API server didn't answer in 30s")
	failing.Attempts, failing.NextAttempt = 1, start.Add(2*time.Second)
	again := failing
	again.Attempts, again.NextAttempt = 2, start.Add(4*time.Second)
	taking := node("service", v1alpha1.NodeReady, engine.Configured, "")
	taking.Taken = []engine.Conflict{{Field: "spec.type", Manager: "kubectl-edit"}}
	old := key("", "ConfigMap", "old")
	return []applier.Event{
		at(0, node("config", v1alpha1.NodeApplying, "", "")),
		at(0, node("service", v1alpha1.NodeApplying, "", "")),
		at(0, node("deployment", v1alpha1.NodeBlocked, "", "waits for config")),
		at(0, node("ingress", v1alpha1.NodeBlocked, "", "waits for deployment, which waits for config")),
		at(0.2, node("config", v1alpha1.NodeReady, engine.Unchanged, "")),
		at(0.3, failing),
		at(1.3, again),
		at(1.4, node("deployment", v1alpha1.NodeProgressing, engine.Created, "0 of 2 replicas available")),
		at(1.5, node("deployment", v1alpha1.NodeProgressing, engine.Created, "0 of 2 replicas available")),
		at(2.0, node("deployment", v1alpha1.NodeProgressing, engine.Created, "1 of 2 replicas available: Pod web-1: can't pull 図:v1\x1b[31m")),
		at(2.3, taking),
		at(15, node("deployment", v1alpha1.NodeReady, engine.Created, "")),
		at(15.2, node("ingress", v1alpha1.NodeReady, engine.Created, "")),
		at(15.2, object(old, v1alpha1.NodePending, "", "")),
		at(15.2, object(old, v1alpha1.NodeDeleting, "", "")),
		at(15.3, object(old, v1alpha1.NodeDeleting, engine.Deleted, "is being deleted, held by finalizer example.com/hold")),
		at(16, object(old, v1alpha1.NodeGone, engine.Deleted, "")),
	}
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestLines(t *testing.T) {
	var b strings.Builder
	l := NewLines(&b, web())
	for _, e := range history() {
		l.Change(shop, e)
	}
	l.Warn("v1 Old is deprecated\nuse New")
	golden(t, "lines.txt", b.String())
}

func TestLinesOfSeveral(t *testing.T) {
	var b strings.Builder
	other := inventory.Owner{Namespace: "shop", Name: "other"}
	l := NewLines(&b, []Graph{{Owner: shop}, {Owner: other}})
	for _, graph := range []inventory.Owner{shop, other} {
		l.Change(graph, at(0, node("config", v1alpha1.NodeReady, engine.Created, "")))
	}
	want := "shop/web-1234abcd: config (ConfigMap shop/web): created, ready\nshop/other: config (ConfigMap shop/web): created, ready\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestJSON(t *testing.T) {
	var b strings.Builder
	j := NewJSON(&b, func() time.Time { return start })
	for _, e := range history()[5:11] {
		j.Change(shop, e)
	}
	j.Change(shop, history()[16])
	j.Warn("v1 Old is deprecated")
	j.Finish(ends()["stuck"])
	j.Finish(Outcome{Graph: shop, Err: errors.New("no\nway")})
	if err := j.Err(); err != nil {
		t.Fatal(err)
	}
	golden(t, "events.json", b.String())
}

// ends returns the possible outcomes of a run by name.
func ends() map[string]Outcome {
	failed := node("deployment", v1alpha1.NodeFailed, "", "exceeded quota: pods")
	stuck := []engine.Status{
		node("config", v1alpha1.NodeReady, engine.Created, ""), node("service", v1alpha1.NodeReady, engine.Unchanged, ""),
		failed, node("ingress", v1alpha1.NodeBlocked, "", "waits for deployment, which failed"),
	}
	progressing := []engine.Status{
		stuck[0], stuck[1], node("deployment", v1alpha1.NodeProgressing, engine.Configured, "1 of 2 replicas available"), stuck[3],
	}
	ready := []engine.Status{stuck[0], stuck[1], object(key("", "ConfigMap", "old"), v1alpha1.NodeGone, engine.Deleted, "")}
	held := object(key("", "ConfigMap", "held"), v1alpha1.NodeDeleting, engine.Deleted, "is being deleted, held by finalizer example.com/hold")
	later := object(key("", "Secret", "later"), v1alpha1.NodePending, "", "")
	end := func(verb Verb, phase engine.Phase, err error, statuses ...engine.Status) Outcome {
		return Outcome{Graph: shop, Verb: verb, Err: err, Elapsed: 2400 * time.Millisecond, Result: &applier.Result{
			Phase: phase, Statuses: statuses,
			Outputs: map[string]any{"url": "http://<ip>"}, OutputErrors: map[string]error{"port": errors.New("service.spec.port: no such field")},
		}}
	}
	interrupted := errors.Join(contextCanceled{}, errors.New("2 requests weren't answered"))
	return map[string]Outcome{
		"ready":              end(Apply, engine.Completed, nil, ready...),
		"stuck":              end(Apply, engine.Stuck, nil, stuck...),
		"timeout":            end(Apply, engine.Executing, applier.ErrTimeout, progressing...),
		"interrupted":        end(Apply, engine.Executing, interrupted, progressing...),
		"ended":              end(Apply, engine.Executing, errors.New("inventory: forbidden"), progressing...),
		"applied":            end(Apply, engine.Executing, nil, progressing[:3]...),
		"applied and failed": end(Apply, engine.Executing, nil, stuck[:3]...),
		"deleted":            end(Delete, engine.Completed, nil, ready[2]),
		"nothing to delete":  end(Delete, engine.Completed, nil),
		"not deleted":        end(Delete, engine.Pruning, applier.ErrTimeout, ready[2], held, later),
		"deletion started":   end(Delete, engine.Pruning, nil, ready[2], held),
	}
}

// contextCanceled is an error like the cause of a context that a signal canceled.
type contextCanceled struct{}

func (contextCanceled) Error() string        { return "interrupt signal received" }
func (contextCanceled) Is(target error) bool { return target.Error() == "context canceled" }

func TestSummary(t *testing.T) {
	var b strings.Builder
	all := ends()
	for _, name := range sortedKeys(all) {
		b.WriteString("-- " + name + " --\n")
		Summary(&b, all[name], false)
		if all[name].Ready() {
			b.WriteString("(ready)\n")
		}
	}
	golden(t, "summaries.txt", b.String())
}

// The golden files have the tree after each event, in windows of several sizes.
func TestTree(t *testing.T) {
	for _, test := range []struct {
		file          string
		width, height int
		color         bool
	}{
		{"tree_wide.txt", 100, 0, false},
		{"tree_narrow.txt", 44, 0, false},
		{"tree_short.txt", 100, 6, false},
		{"tree_tiny.txt", 20, 3, false},
		{"tree_color.txt", 100, 0, true},
	} {
		t.Run(test.file, func(t *testing.T) {
			var b strings.Builder
			tr := newTree(web(), start)
			shown := ""
			frame := func(now time.Time) {
				lines := tr.frame(style.Painter{Color: test.color}, now, test.width, test.height)
				if test.height > 0 && len(lines) > test.height {
					t.Errorf("%d lines", len(lines))
				}
				text := ""
				for _, l := range lines {
					if n := style.Width(l); n > test.width {
						t.Errorf("%d columns: %s", n, l)
					}
					text += strings.ReplaceAll(l, "\x1b", "^") + "\n"
				}
				if text != shown {
					b.WriteString("-- " + now.Sub(start).String() + " --\n" + text)
				}
				shown = text
			}
			frame(start)
			for _, e := range history() {
				tr.change(shop, e)
				frame(e.Time)
			}
			end := ends()["ready"]
			end.Elapsed = 16 * time.Second
			tr.graphs[0].outcome = &end
			frame(start.Add(16 * time.Second))
			golden(t, test.file, b.String())
		})
	}
}
