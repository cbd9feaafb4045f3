package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/cli/style"
)

// seenStates returns the observed states of a graph, with their times in seconds after
// the start.
func seenStates() (seconds []float64, states []*applier.State) {
	add := func(at float64, ready, unfinished bool, nodes ...engine.Status) {
		s := &applier.State{Owner: shop, Ready: ready, Unfinished: unfinished}
		for _, n := range nodes {
			s.Nodes = append(s.Nodes, applier.NodeState{Status: n})
		}
		seconds, states = append(seconds, at), append(states, s)
	}
	config := node("config", v1alpha1.NodeReady, engine.Unchanged, "")
	service := node("service", v1alpha1.NodeReady, engine.Unchanged, "")
	blocked := node("ingress", v1alpha1.NodeBlocked, "", "waits for deployment")
	progressing := func(message string) engine.Status {
		return node("deployment", v1alpha1.NodeProgressing, engine.Unchanged, message)
	}
	add(0, false, false, config, node("deployment", v1alpha1.NodePending, "", "isn't applied"), blocked)
	states[0].Cause = "no applier has seen it yet"
	add(1, false, true, config, progressing("0 of 2 replicas available"), blocked)
	add(3, false, true, config, progressing("1 of 2 replicas available"), blocked)
	add(3, false, true, config, progressing("1 of 2 replicas available"), blocked)
	ready := node("deployment", v1alpha1.NodeReady, engine.Unchanged, "")
	add(3.8, false, true, config, ready)
	add(4, true, false, config, ready)
	drifted := config
	drifted.Drifted = true
	// Another revision, with a node more and without the Deployment.
	add(5, false, false, drifted, service, object(ready.Key, v1alpha1.NodePending, "", "left the graph; the next apply removes it"))
	add(6, true, false, drifted, service)
	return seconds, states
}

func TestStates(t *testing.T) {
	var b strings.Builder
	l := NewStates(&b, false)
	_, states := seenStates()
	for _, s := range states {
		l.Show(s)
	}
	l.Gone(shop)
	l.Close()
	want := `config (ConfigMap shop/web): ready
deployment (Deployment.apps shop/web): pending: isn't applied
ingress (Ingress.networking.k8s.io shop/web): blocked: waits for deployment
shop/web-1234abcd: not ready, 1 of 3 ready; no applier has seen it yet
deployment (Deployment.apps shop/web): progressing: 0 of 2 replicas available
shop/web-1234abcd: not ready, 1 of 3 ready
deployment (Deployment.apps shop/web): progressing: 1 of 2 replicas available
deployment (Deployment.apps shop/web): ready
ingress (Ingress.networking.k8s.io shop/web): gone
shop/web-1234abcd: ready, 2 of 2 ready
config (ConfigMap shop/web): ready, but changed by others since it was applied
service (Service shop/web): ready
Deployment.apps shop/web: pending: left the graph; the next apply removes it
shop/web-1234abcd: not ready, 2 of 3 ready
Deployment.apps shop/web: gone
shop/web-1234abcd: ready, 2 of 2 ready
shop/web-1234abcd: gone
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Reset()
	NewStates(&b, true).Show(states[5])
	want = "shop/web-1234abcd: config (ConfigMap shop/web): ready\n" +
		"shop/web-1234abcd: deployment (Deployment.apps shop/web): ready\nshop/web-1234abcd: ready, 2 of 2 ready\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("of several (-want +got):\n%s", diff)
	}
}

// The golden file has the tree of a watched graph after each state.
func TestStatesTree(t *testing.T) {
	now := start
	l := &Live{
		term: Terminal{Writer: &strings.Builder{}, Size: func() (int, int) { return 100, 30 }, Now: func() time.Time { return now }},
		tree: newTree([]Graph{{Owner: shop}}, start),
	}
	var b strings.Builder
	frame := func(height int) {
		b.WriteString("-- " + now.Sub(start).String() + " --\n")
		for _, line := range l.tree.frame(style.Painter{}, now, 100, height) {
			b.WriteString(line + "\n")
		}
	}
	frame(0)
	seconds, states := seenStates()
	for i, s := range states {
		now = start.Add(time.Duration(seconds[i] * float64(time.Second)))
		l.Show(s)
		frame(0)
	}
	frame(2)
	l.Gone(shop)
	frame(0)
	golden(t, "tree_watched.txt", b.String())
}
