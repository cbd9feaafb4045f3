package pictures

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/browser"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/inprocess"
	"github.com/pequod-io/pequod/test/server"
)

func TestMain(m *testing.M) { inprocess.Main(m) }

// TestPage opens the page of pequod ui about graphs that an applier executes, and makes its
// screenshots with -update.
func TestPage(t *testing.T) {
	b := browser.Start(t)
	c := harness.Start(t)
	// The namespace of the test has another name in each run.
	c.Namespace = "shops"
	if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.Namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	inprocess.Execute(t, c)
	data, err := os.ReadFile("testdata/page.yaml")
	if err != nil {
		t.Fatal(err)
	}
	client := c.Await(t, v1alpha1.GroupVersion.String(), "ResourceGraph", "")
	for document := range strings.SplitSeq(string(data), "\n---\n") {
		var graph map[string]any
		if err := yaml.Unmarshal([]byte(document), &graph); err != nil {
			t.Fatal(err)
		}
		name := graph["name"].(string)
		delete(graph, "name")
		if _, err := client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "ResourceGraph", "metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"sourceRef":   map[string]any{"apiVersion": "acme.example/v1", "kind": "Shop", "name": name},
				"platformRef": map[string]any{"module": "shop"}, "renderHash": "", "driftPolicy": "Report", "graph": graph,
			},
		}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p := b.Open(t, serve(t, c))
	p.Size(1520, 900)
	p.Wait(`document.querySelectorAll("#graphs li.ready").length === 10`)
	browser.Eval[bool](p, `(location.hash = "`+c.Namespace+`/lagos", true)`)
	p.Wait(`document.querySelector("#drawing").textContent.includes("can't be pulled") && document.querySelector("#drawing .g-blocking")`)
	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Patch(t.Context(), "lagos-settings", types.MergePatchType,
		[]byte(`{"data": {"shop.conf": "workers 48"}}`), metav1.PatchOptions{FieldManager: "kubectl-edit"}); err != nil {
		t.Fatal(err)
	}
	p.Wait(`document.querySelector("#drawing").textContent.includes("kubectl-edit") && document.querySelector("#events").textContent.includes("Drift")`)
	browser.Eval[bool](p, `(document.activeElement.blur(), true)`)
	for name, colors := range map[string]string{"page-light.png": "light", "page-dark.png": "dark"} {
		p.Media("screen", colors)
		save(t, name, p.Screenshot())
	}
	if problems := p.Problems(); len(problems) > 0 {
		t.Errorf("problems %q", problems)
	}
}

// serve runs pequod ui for the test's namespace until the test ends, and returns the address.
func serve(t *testing.T, c *harness.Cluster) string {
	t.Helper()
	bin := t.TempDir()
	if err := server.Programs(context.Background(), bin, "", []string{"pequod"}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "pequod"), "ui", "-n", c.Namespace, "--kubeconfig", c.Kubeconfig)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // it is killed with the context of the test
	line, _ := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(strings.TrimSpace(line), " on ")
	if !found {
		t.Fatalf("pequod ui printed %q", line)
	}
	return address
}
