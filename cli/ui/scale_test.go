package ui_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/browser"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
)

// many creates graphs with one node.
func many(t *testing.T, c *harness.Cluster, count int) {
	t.Helper()
	inprocess.Install(t, c)
	client := c.Await(t, v1alpha1.GroupVersion.String(), "ResourceGraph", "")
	var group errgroup.Group
	group.SetLimit(8)
	for i := range count {
		group.Go(func() error {
			_, err := client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ResourceGraph",
				"metadata": map[string]any{"name": fmt.Sprintf("web-%04d", i)},
				"spec": map[string]any{
					"sourceRef":   map[string]any{"apiVersion": "pequod.io/v1alpha1", "kind": "WebService", "name": fmt.Sprintf("web-%04d", i)},
					"platformRef": map[string]any{"module": "webservice"}, "renderHash": "x",
					"graph": map[string]any{"nodes": []any{map[string]any{
						"id": "config", "resource": map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("web-%04d", i)}},
					}}},
				},
			}}, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// fail writes the status of a graph that has failed.
func fail(t *testing.T, c *harness.Cluster, name, message string) {
	t.Helper()
	c.SetStatus(t, v1alpha1.GroupVersion.String(), "ResourceGraph", name, map[string]any{
		"phase": "Failed", "observedGeneration": 1,
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "False", "reason": "ApplyFailed", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
	})
}

// A thousand graphs are listed and filtered at once, and one that changes is found.
func TestThousand(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	many(t, c, 1000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace)
	began := time.Now()
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 1000`)
	listed := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	took := browser.Eval[float64](p, `(() => {
	  const find = document.querySelector("#find"), begin = performance.now();
	  find.value = "0417";
	  find.dispatchEvent(new Event("input"));
	  document.querySelector("#graphs").offsetHeight;
	  return performance.now() - begin;
	})()`)
	if shown := browser.Eval[string](p, `[...document.querySelectorAll("#graphs li:not([hidden])")].map(e => e.dataset.key).join()`); shown != c.Namespace+"/web-0417" {
		t.Errorf("0417 finds %s", shown)
	}
	t.Logf("listed in %s, filtered in %.0f ms, %d KiB of heap more", listed, took, (int64(after.HeapAlloc)-int64(before.HeapAlloc))>>10)
	browser.Eval[bool](p, `(document.querySelector("#find").value = "", document.querySelector("#find").dispatchEvent(new Event("input")), true)`)
	fail(t, c, "web-0800", "node config failed")
	p.Wait(`document.querySelector("#graphs li").dataset.key.endsWith("/web-0800") && document.title.startsWith("1 failed")`)
	p.Wait(`document.querySelector("#said").textContent.includes("web-0800: failed")`)
	p.Click(`#states [data-state=failed]`)
	if n := browser.Eval[int](p, `document.querySelectorAll("#graphs li:not([hidden])").length`); n != 1 {
		t.Errorf("%d graphs have failed", n)
	}
	// All of it can be reached with the keyboard: the list is one stop of Tab.
	browser.Eval[bool](p, `(document.activeElement.blur(), true)`)
	p.Press("/web-0800" + kb.ArrowDown + kb.Enter)
	p.Wait(`document.activeElement.id === "title" && document.querySelector("#title").textContent.endsWith("/web-0800")`)
	p.Press(kb.Escape + "/" + kb.Escape)
	p.Wait(`document.querySelectorAll("#graphs li:not([hidden])").length === 1000`)
	for _, step := range []struct{ keys, want string }{
		{kb.ArrowDown + kb.End, "web-0999"}, {kb.ArrowUp, "web-0998"}, {kb.PageUp, "web-0988"}, {kb.Home, "web-0800"}, {kb.PageDown + kb.ArrowDown, "web-0010"},
	} {
		p.Press(step.keys)
		if got := browser.Eval[string](p, "document.activeElement.dataset.key"); got != c.Namespace+"/"+step.want {
			t.Errorf("the keys lead to %s, want %s", got, step.want)
		}
	}
	clean(t, p)
}

// Hostile text changes nothing but itself.
func TestHostile(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	many(t, c, 2)
	hostile := "\"'><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\"></details>&amp; \u202e $& `x` @team \x1b[31mred"
	fail(t, c, "web-0000", hostile+strings.Repeat("x", 900))
	fail(t, c, "web-0001", "plain")
	large := "<b>" + strings.Repeat("x", 1<<20)
	rg := graph(t, c, "large", "nodes: [{id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: large}}}]\noutputs: {text: "+large+"}")
	rg.Spec.SourceRef.Kind, rg.Spec.SourceRef.Name = hostile, hostile
	create(t, c, rg)
	address, _ := serve(t, c.Kubeconfig, "-n", c.Namespace)
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 3`)
	text := browser.Eval[string](p, `document.querySelector("#graphs li[data-key$='/web-0000'] .about").textContent`)
	if !strings.Contains(text, "<script>") || strings.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("the list shows %q", text)
	}
	for _, name := range []string{"web-0000", "web-0001", "large"} {
		browser.Eval[bool](p, `(location.hash = "`+c.Namespace+"/"+name+`", true)`)
		p.Wait(`document.querySelector("#title").textContent.endsWith("/` + name + `") && document.querySelector("#drawing svg")`)
	}
	for _, bad := range []string{"#detail script", "#detail img", "#graphs script", "#graphs img"} {
		if browser.Eval[bool](p, `!!document.querySelector("`+bad+`")`) {
			t.Errorf("the page has %s", bad)
		}
	}
	clean(t, p)
}

// After an expired watch the graphs are listed again.
func TestExpired(t *testing.T) {
	t.Parallel()
	b := browser.Start(t)
	c := harness.Start(t)
	many(t, c, 1)
	proxy := c.Proxy(t, 1)
	proxy.Inject(faults.Rule{Verbs: []string{"watch"}, Resources: []string{"resourcegraphs", "configmaps"}, Times: 2, Faults: []faults.Fault{faults.Status{Code: 410}}})
	address, _ := serve(t, c.WriteKubeconfig(t, proxy.Config(c.Config)), "-n", c.Namespace)
	p := open(t, b, address)
	p.Wait(`document.querySelectorAll("#graphs li").length === 1`)
	fail(t, c, "web-0000", "changed meanwhile")
	p.Wait(`document.querySelector("#graphs li.failed") && document.querySelector("#problem").hidden`)
	if len(proxy.Faults()) == 0 {
		t.Error("no watch has expired")
	}
	clean(t, p)
}
