package ui_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/browser"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

// mixed has nodes in all the states that a cluster without kubelets shows.
const mixed = `
nodes:
- {id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: b}}}
- {id: drifted, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: drifted}, data: {a: b}}}
- {id: wrong, resource: {apiVersion: v1, kind: Service, metadata: {name: wrong}, spec: {ports: [{port: 70000}]}}}
- {id: gate, externalRef: {apiVersion: v1, kind: ConfigMap, name: gate}}
- {id: late, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}}, dependencies: [config, gate]}
outputs: {address: https://web.example}
`

// Text is readable in light and in dark colors, and the page does not scroll sideways on a
// narrow screen, which shows the list or one graph.
func TestLook(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	inprocess.Execute(t, c)
	create(t, c, graph(t, c, "web", mixed))
	create(t, c, graph(t, c, "a-name-that-is-as-long-as-names-of-graphs-may-be", "nodes: [{id: only, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: api}}}]"))
	file := filepath.Join(t.TempDir(), "web.yaml")
	writeGraph(t, file, "{id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {a: changed}}}")
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace, "-f", file)
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 2`)
	p.Press("/web")
	p.Click(`#graphs li[data-key$="/web"]`)
	p.Wait(state("wrong") + `?.includes("g-failed") && ` + state("late") + `?.includes("g-blocked") && ` + state("drifted") + `?.includes("g-ready")`)
	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "drifted", types.MergePatchType,
		[]byte(`{"data": {"a": "other"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	p.Wait(state("drifted") + `?.includes("g-drifted") && document.querySelector("#nodes .changed")`)
	p.Wait(`document.querySelector("#events .warning")`)
	p.Click("#compare")
	p.Wait(`document.querySelector("#diff .entry")`)
	// Both kinds of messages about problems are hidden now.
	browser.Eval[bool](p, `(document.querySelectorAll(".problem").forEach(e => { e.hidden = false; e.textContent = "a problem" }), true)`)
	for _, colors := range []struct{ name, background string }{{"light", "rgb(255, 255, 255)"}, {"dark", "rgb(13, 17, 23)"}} {
		p.Media("screen", colors.name)
		if got := browser.Eval[string](p, `getComputedStyle(document.body).backgroundColor`); got != colors.background {
			t.Errorf("%s: background %s", colors.name, got)
		}
		for _, bad := range p.LowContrast() {
			t.Errorf("%s: %s", colors.name, bad)
		}
	}

	// The drawing shrinks a bit before it has to be scrolled.
	p.Size(850, 800)
	p.Wait(`(s => s.clientWidth < s.viewBox.baseVal.width)(document.querySelector("#drawing svg"))`)
	p.Size(400, 800)
	wide := `document.documentElement.scrollWidth`
	p.Wait(`!document.querySelector(".list").checkVisibility() && document.querySelector("#detail").checkVisibility()`)
	if got := browser.Eval[int](p, wide); got > 400 {
		t.Errorf("the graph is %d pixels wide", got)
	}
	p.Click("#close")
	p.Wait(`document.querySelector(".list").checkVisibility() && !document.querySelector("#detail").checkVisibility()`)
	browser.Eval[bool](p, `(document.querySelector("#find").value = "", document.querySelector("#find").dispatchEvent(new Event("input")), true)`)
	if got := browser.Eval[int](p, wide); got > 400 {
		t.Errorf("the list is %d pixels wide", got)
	}
	clean(t, p)
}

// writeGraph writes the ResourceGraph web to a file.
func writeGraph(t *testing.T, file, nodes string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(`
apiVersion: platform.pequod.io/v1alpha1
kind: ResourceGraph
metadata: {name: web}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: Web, name: web}
  platformRef: {module: web}
  renderHash: changed
  graph: {nodes: [`+nodes+`]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An account without rights is told what it may not read, and the page shows the rest. It
// goes on when the account gets the rights.
func TestRights(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	inprocess.Execute(t, c)
	create(t, c, graph(t, c, "web", "nodes: [{id: only, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}}]"))
	address, _ := serve(t, c.WriteKubeconfig(t, c.ServiceAccount(t, c.Namespace, "reader")), "-n", c.Namespace)
	p := open(t, b, address)
	p.Wait(`document.querySelector("#problem").checkVisibility() && document.querySelector("#count").textContent === "The graphs can't be read."`)
	for _, want := range []string{"resourcegraphs", "configmaps", "reader"} {
		p.Wait(`document.querySelector("#problem").textContent.includes("` + want + `")`)
	}
	browser.Eval[bool](p, `(location.hash = "`+c.Namespace+`/web", true)`)
	p.Wait(`document.querySelector("#trouble").checkVisibility() && document.querySelector("#trouble").textContent.includes("forbidden")`)

	inprocess.Account(t, c, "reader",
		rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"resourcegraphs"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}})
	p.Wait(`document.querySelectorAll("#graphs li").length === 1 && document.querySelector("#problem").hidden && document.querySelector("#trouble").hidden`)
	p.Wait(state("only") + `?.includes("g-ready")`)
	p.Wait(`/events.*forbidden/.test(document.querySelector("#events").textContent)`)
	clean(t, p)
}

// The page compares instances, too. It shows the mistakes in a file, and reads files again.
func TestFiles(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	inprocess.Execute(t, c)
	create(t, c, graph(t, c, "other", "nodes: [{id: only, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: other}}}]"))
	file := filepath.Join(t.TempDir(), "web.yaml")
	write := func(spec string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("apiVersion: pequod.io/v1alpha1\nkind: WebService\nmetadata: {name: web}\nspec:\n  image: ghcr.io/shop/web:1.4.0\n"+spec), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("  port: 8080\n")
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace, "-f", file, "-p", "embedded:webservice")
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 2`)
	p.Click(`#graphs li[data-key$="/other"]`)
	p.Wait(state("only") + `?.includes("g-ready")`)
	if browser.Eval[bool](p, `document.querySelector("#files").checkVisibility()`) {
		t.Error("a graph that isn't in the files can be compared")
	}
	p.Press(kb.Escape)
	p.Click(`#graphs li.new`)
	p.Wait(`document.querySelector("#summary").textContent.includes("The cluster has no graph")`)
	p.Click("#compare")
	p.Wait(`document.querySelectorAll("#diff .entry").length >= 2`)
	if kinds := browser.Eval[string](p, `document.querySelector("#diff").textContent`); !strings.Contains(kinds, "Deployment") {
		t.Errorf("the difference: %s", kinds)
	}
	write("  port: 8080\n  prot: 1\n")
	p.Click("#compare")
	p.Wait(`document.querySelector("#diff").textContent.includes("web.yaml:7:3: spec.prot: unknown field")`)
	write("  port: 9999\n")
	p.Click("#compare")
	p.Wait(`document.querySelectorAll("#diff .entry").length >= 2 && document.querySelector("#diff").textContent.includes("9999")`)
	// The answer 422 of the mistake is in the console of the browser.
	if problems := p.Problems(); len(problems) > 1 {
		t.Errorf("problems: %q", problems)
	}
}

// --open starts the program that opens addresses. Without one, the address is printed as
// always.
func TestOpen(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test replaces xdg-open")
	}
	c := harness.Start(t)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	_, stop := serve(t, c.Kubeconfig, "-n", c.Namespace, "--open")
	stop()
	opened := filepath.Join(bin, "opened")
	script := "#!/bin/sh\necho \"$@\" > " + opened + ".part\n/bin/mv " + opened + ".part " + opened + "\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace, "--open")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got, err := os.ReadFile(opened); err == nil {
			if string(got) != address+"\n" {
				t.Errorf("it opened %q, want %s", got, address)
			}
			return
		}
	}
	t.Error("it opened nothing")
}

// With -A the list has the graphs of all namespaces, with their namespaces, and each can be
// opened.
func TestAllNamespaces(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	inprocess.Install(t, c)
	const nodes = "nodes: [{id: only, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}}]"
	create(t, c, graph(t, c, "web", nodes))
	here, there := c.Namespace, c.Unique("elsewhere")
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+there+"}}")
	t.Cleanup(func() { _ = c.Client.CoreV1().Namespaces().Delete(context.Background(), there, metav1.DeleteOptions{}) })
	elsewhere := *c
	elsewhere.Namespace = there
	create(t, &elsewhere, graph(t, &elsewhere, "web", nodes))
	address, _ := serve(t, c.Kubeconfig, "-A")
	p := open(t, b, address)
	for _, namespace := range []string{here, there} {
		row := `#graphs li[data-key="` + namespace + `/web"]`
		// Rows of other tests come and go: alone in the list, this one doesn't move.
		browser.Eval[bool](p, `(document.querySelector("#find").value = "`+namespace+`", document.querySelector("#find").dispatchEvent(new Event("input")), true)`)
		p.Wait(`document.querySelector('` + row + ` .name')?.textContent === "` + namespace + `/web"`)
		p.Click(row)
		p.Wait(`document.querySelector("#title").textContent === "` + namespace + `/web" && ` + state("only") + `?.includes("g-pending")`)
	}
	clean(t, p)
}
