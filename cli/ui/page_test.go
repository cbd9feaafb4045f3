package ui_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/test/browser"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

const gated = `
nodes:
- id: config
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}
- id: gate
  externalRef: {apiVersion: v1, kind: ConfigMap, name: gate}
- id: late
  resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {key: v1}}
  dependencies: [config, gate]
outputs: {address: https://web.example}
`

// state returns the class of the box of a node, such as ready.
func state(node string) string {
	return `[...document.querySelectorAll("#drawing .g-node")].find(n => n.querySelector(".g-id").textContent === "` + node + `")?.getAttribute("class")`
}

// A node that becomes ready turns green without a reload; drift and who caused it are
// shown; files are compared; and all of it with the keyboard alone.
func TestLive(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	inprocess.Execute(t, c)
	create(t, c, graph(t, c, "web", gated))
	create(t, c, graph(t, c, "api", "nodes: [{id: only, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: api}}}]"))
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(`
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: Web, name: web}
  platformRef: {module: web}
  renderHash: changed
  graph:
    nodes:
    - {id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: changed}}}
    - {id: gate, externalRef: {apiVersion: v1, kind: ConfigMap, name: gate}}
    - {id: late, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}, data: {key: v1}}, dependencies: [config, gate]}
    - {id: token, resource: {apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {password: hunter2}}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	address, stop := serve(t, c.Kubeconfig, "-n", c.Namespace, "-f", file, "--allow-secrets")
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 2`)

	// The keyboard leads to the list, along it, and into a graph.
	p.Press("/")
	p.Press("/web")
	p.Wait(`document.querySelectorAll("#graphs li:not([hidden])").length === 1`)
	p.Press(kb.ArrowDown)
	if got := browser.Eval[string](p, "document.activeElement.dataset.key"); got != c.Namespace+"/web" {
		t.Errorf("the focus is at %q", got)
	}
	p.Press(kb.Enter)
	p.Wait(state("gate") + `?.includes("g-waiting")`)
	p.Wait(state("late") + `?.includes("g-blocked") && document.querySelector("#drawing .g-blocking")`)
	if got := browser.Eval[string](p, "document.activeElement.id"); got != "title" {
		t.Errorf("Enter moves the focus to %q", got)
	}
	p.Wait(`document.querySelector("#node-2").innerText.includes("waits for gate") && document.querySelector("#node-1").innerText.includes("blocks late")`)
	border := browser.Eval[string](p, `getComputedStyle(document.querySelector("#drawing .g-waiting rect")).stroke`)

	c.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}")
	p.Wait(state("gate") + `?.includes("g-ready") && ` + state("late") + `?.includes("g-ready")`)
	if green := browser.Eval[string](p, `getComputedStyle([...document.querySelectorAll("#drawing .g-node")][1].querySelector("rect")).stroke`); green == border {
		t.Errorf("the border of the node stays %s", green)
	}
	p.Wait(`document.querySelector("#summary .state.ready") && document.querySelector("#said").textContent.includes("ready")`)
	p.Wait(`document.querySelector("#outputs").textContent.includes("https://web.example") && document.querySelector("#history").textContent.includes("Completed")`)

	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "late", types.MergePatchType,
		[]byte(`{"data": {"key": "other"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelector("#nodes .changed")?.textContent.includes("kubectl-edit") && document.querySelector("#drawing .g-drifted")`)
	p.Wait(`document.querySelector("#events").textContent.includes("Drift")`)

	names := p.Names()
	for _, n := range names {
		if slices.Contains([]string{"button", "link", "searchbox", "combobox", "heading", "option", "listbox"}, n.Role) && strings.TrimSpace(n.Name) == "" {
			t.Errorf("a %s has no name", n.Role)
		}
	}
	for _, want := range []browser.Named{{Role: "listbox", Name: "Graphs"}, {Role: "searchbox", Name: "Find"}, {Role: "heading", Name: "Nodes"}} {
		if !slices.Contains(names, want) {
			t.Errorf("%v is missing", want)
		}
	}
	// A link of the drawing leads to the row of its node.
	browser.Eval[bool](p, `document.querySelector("#drawing a").focus() ?? true`)
	p.Press(kb.Enter)
	if got := browser.Eval[string](p, "document.activeElement.id"); got != "node-0" {
		t.Errorf("the link leads to %q", got)
	}

	p.Click("#compare")
	p.Wait(`document.querySelectorAll("#diff .entry").length === 3`)
	diff := browser.Eval[string](p, `(document.querySelectorAll("#diff details").forEach(d => d.open = true), document.querySelector("#diff").innerText)`)
	if !strings.Contains(diff, "changed") || strings.Contains(diff, "hunter2") {
		t.Errorf("the difference:\n%s", diff)
	}

	p.Press(kb.Escape)
	if got := browser.Eval[string](p, "document.activeElement.dataset.key"); got != c.Namespace+"/web" || browser.Eval[bool](p, `document.querySelector("#detail").checkVisibility()`) {
		t.Errorf("Escape doesn't close the graph; the focus is at %q", got)
	}
	clean(t, p)
	stop()
	p.Wait(`document.querySelector("#connection.lost")`)
}

// A page that shows only the newest Events, or the start of a text, gives the size of the
// rest.
func TestCut(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	inprocess.Execute(t, c)
	// An é has two bytes: the limit of 4000 bytes is inside one.
	create(t, c, graph(t, c, "long", "nodes: [{id: only, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: long}}}]\noutputs: {text: x"+strings.Repeat("é", 3000)+"}"))
	for i := range 53 {
		at := metav1.NewTime(time.Now().Add(time.Duration(i) * time.Hour))
		if _, err := c.Client.CoreV1().Events(c.Namespace).Create(t.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("long.%d", i)},
			InvolvedObject: corev1.ObjectReference{Kind: "ResourceGraph", Namespace: c.Namespace, Name: "long"},
			Reason:         fmt.Sprintf("Test%d", i), LastTimestamp: at, Type: corev1.EventTypeNormal,
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace)
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 1`)
	p.Click("#graphs li")
	p.Wait(`document.querySelector("#outputs").textContent.includes("é… (2002 more bytes)")`)
	if browser.Eval[bool](p, `document.querySelector("#outputs").textContent.includes("\ufffd")`) {
		t.Error("a character is cut in two")
	}
	p.Wait(`document.querySelectorAll("#events tbody tr").length === 50`)
	p.Wait(`document.querySelector("#events tbody th").textContent === "Test52"`)
	// The applier may add Events of its own.
	note := browser.Eval[string](p, `document.querySelector("#events > p").textContent`)
	if want := regexp.MustCompile(`^The newest 50 of 5[3-9] Events\. All of them: kubectl events -n ` + c.Namespace + ` --for resourcegraph/long$`); !want.MatchString(note) {
		t.Errorf("the page says %q", note)
	}
	clean(t, p)
}

// The page tells that the API server is away, and goes on when it is back.
func TestServerAway(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	inprocess.Execute(t, c)
	create(t, c, graph(t, c, "web", gated))
	address, _ := serve(t, c.WriteKubeconfig(t, proxy.Config(c.Config)), "-n", c.Namespace)
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 1`)
	p.Click("#graphs li")
	p.Wait(state("gate") + `?.includes("g-waiting")`)
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelector("#problem").textContent.includes("trying again") && document.querySelector("#trouble").textContent.includes("trying again")`)
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	c.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}")
	create(t, c, graph(t, c, "api", "nodes: [{id: only, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: api}}}]"))
	p.Wait(state("late") + `?.includes("g-ready") && document.querySelectorAll("#graphs li").length === 2`)
	p.Wait(`document.querySelector("#problem").hidden && document.querySelector("#trouble").hidden`)
	clean(t, p)
}
