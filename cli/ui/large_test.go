package ui_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/browser"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

// Of a graph with 1,000 nodes, the page draws the node that isn't ready with those that
// wait for it, and the list has all nodes. Once all are ready, a part is still drawn.
func TestLargeGraph(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	inprocess.Execute(t, c)
	var nodes strings.Builder
	nodes.WriteString("nodes:\n")
	for i := range 997 {
		fmt.Fprintf(&nodes, "- {id: n%03d, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: n%03d}}}\n", i, i)
	}
	nodes.WriteString("- {id: gate, externalRef: {apiVersion: v1, kind: ConfigMap, name: gate}}\n" +
		"- {id: late, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}}, dependencies: [gate, n500]}\n" +
		"- {id: last, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: last}}, dependencies: [late]}\n")
	create(t, c, graph(t, c, "large", nodes.String()))
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace)
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 1`)
	p.Click("#graphs li")
	// The first 997 nodes may take longer than one step of the browser.
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		if browser.Eval[bool](p, `document.querySelector("#summary").textContent.includes("997 of 1000")`) {
			break
		}
	}
	p.Wait(state("gate") + `?.includes("g-waiting") && ` + state("late") + `?.includes("g-blocked") && document.querySelector("#drawing .g-blocking")`)
	p.Wait(state("last") + `?.includes("g-blocked") && ` + state("n500") + `?.includes("g-ready")`)
	check := func(want string, count int) {
		t.Helper()
		if drawn := browser.Eval[int](p, `document.querySelectorAll("#drawing .g-node").length`); drawn != count {
			t.Errorf("%d nodes are drawn, want %d", drawn, count)
		}
		if rows := browser.Eval[int](p, `document.querySelectorAll("#nodes tbody tr").length`); rows != 1000 {
			t.Errorf("the list has %d nodes", rows)
		}
		note := browser.Eval[string](p, `document.querySelector("#drawing > p").textContent`)
		if want := fmt.Sprintf("leaves out %d nodes. It %s", 1000-count, want); !strings.Contains(note, want) {
			t.Errorf("the page says %q", note)
		}
	}
	check("shows nodes that aren't ready", 4)

	c.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}")
	p.Wait(`document.querySelector("#summary .state.ready")`)
	check("begins at the nodes without dependencies", 60)
	clean(t, p)
}
