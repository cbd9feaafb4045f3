package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/harness"
)

// TestBothWays checks that a graph has the same result in both modes: rendered,
// applied with kubectl apply --server-side and executed by the applier with only
// the generated roles; or executed by pequod apply.
func TestBothWays(t *testing.T) {
	bin := t.TempDir()
	buildAsMakeDoes(t, bin)
	c := harness.StartOwn(t)
	install(t, bin, c)
	pequod := func(stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, "pequod"), args...)
		// Only an administrator may make the accounts and roles.
		cmd.Env = environment("KUBECONFIG="+c.Kubeconfig, "XDG_CACHE_HOME="+t.TempDir())
		cmd.Stdin, cmd.Dir = strings.NewReader(stdin), t.TempDir()
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("pequod %s: %v\n%s", strings.Join(args, " "), err, &stderr)
		}
		return string(out)
	}
	const app = `{apiVersion: pequod.io/v1alpha1, kind: WebService, metadata: {name: web}, spec: {image: nginxinc/nginx-unprivileged, port: 8080, replicas: 2}}`
	for _, namespace := range []string{"synced", "applied"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.ServiceAccount(t, "synced", "pequod")

	rendered := graphFrom(t, pequod(app, "render", "-f", "-", "-n", "synced"))
	c.Apply(t, pequod(app, "rbac", "generate", "-f", "-", "-n", "synced"))
	graphs := c.Await(t, "platform.pequod.io/v1alpha1", "ResourceGraph", "synced")
	if _, err := graphs.Apply(t.Context(), rendered.GetName(), rendered, metav1.ApplyOptions{FieldManager: "kubectl"}); err != nil {
		t.Fatal(err)
	}
	var live *unstructured.Unstructured
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		var err error
		if live, err = graphs.Get(ctx, rendered.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
		s, err := status.Compute(live)
		if err == nil && (s.Status != status.CurrentStatus || live.Object["status"] == nil) {
			err = fmt.Errorf("%s: %s", s.Status, s.Message)
		}
		return err
	})
	pequod(app, "apply", "-f", "-", "-n", "applied")

	if diff := cmp.Diff(rendered.Object["spec"], live.Object["spec"]); diff != "" {
		t.Errorf("the spec in the cluster (-rendered +live):\n%s", diff)
	}
	other := graphFrom(t, pequod(app, "render", "-f", "-", "-n", "applied"))
	for _, kind := range [][2]string{{"apps/v1", "Deployment"}, {"v1", "Service"}} {
		here := essence(t, c, kind, "synced", rendered.GetName())
		there := essence(t, c, kind, "applied", other.GetName())
		if diff := cmp.Diff(here, there); diff != "" {
			t.Errorf("%s (-the applier +pequod apply):\n%s", kind[1], diff)
		}
	}

	// The exit code shows that the command line would change nothing.
	pequod(app, "diff", "-f", "-", "-n", "synced")
}

func graphFrom(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	u := &unstructured.Unstructured{}
	if err == nil {
		err = u.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// essence returns an object without the fields that differ between any two equal
// objects, and the fields that the graphs' field manager owns.
func essence(t *testing.T, c *harness.Cluster, kind [2]string, namespace, graph string) any {
	t.Helper()
	objects, err := c.Resource(kind[0], kind[1], namespace)
	if err != nil {
		t.Fatal(err)
	}
	live, err := objects.Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var held []metav1.ManagedFieldsEntry
	for _, entry := range live.GetManagedFields() {
		entry.Time = nil
		if entry.Manager == "pequod" {
			held = append(held, entry)
		}
	}
	if len(held) == 0 {
		t.Errorf("%s %s/web: pequod holds nothing of it", kind[1], namespace)
	}
	content := live.DeepCopy().Object
	for _, path := range [][]string{
		{"status"}, {"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"},
		{"metadata", "managedFields"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
	} {
		unstructured.RemoveNestedField(content, path...)
	}
	text, err := json.Marshal([]any{content, held})
	if err != nil {
		t.Fatal(err)
	}
	var normal any
	replaced := strings.NewReplacer(graph, "GRAPH", namespace, "NAMESPACE").Replace(string(text))
	if err := json.Unmarshal([]byte(replaced), &normal); err != nil {
		t.Fatal(err)
	}
	return normal
}
