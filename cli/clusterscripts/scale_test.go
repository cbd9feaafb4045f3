package clusterscripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/test/harness"
)

const scaledModule = `package shop

#Platform: {
	group: "scale.example.com"
	scale: {specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.outputs.replicas", labelSelectorPath: ".status.outputs.selector"}
}
#Input: replicas: *1 | int & >=0 & <=9
#Render: {input: {metadata: {name: string, namespace: string}, spec: #Input}, output: nodes: {}}
`

// TestScale checks that kubectl scale changes an instance of a generated kind with a
// scale subresource, and that an autoscaler can read and write its scale.
func TestScale(t *testing.T) {
	t.Parallel()
	c := harness.StartOwn(t)
	dir := t.TempDir()
	module := filepath.Join(dir, "shop")
	if err := os.Mkdir(module, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "module.cue"), []byte(scaledModule), 0o600); err != nil {
		t.Fatal(err)
	}
	crd, err := exec.CommandContext(t.Context(), "pequod", "crd", "generate", "-p", module).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, crd)
	}
	c.Apply(t, string(crd))
	c.Apply(t, "apiVersion: scale.example.com/v1alpha1\nkind: Shop\nmetadata: {name: web}\nspec: {}\n")
	c.SetStatus(t, "scale.example.com/v1alpha1", "Shop", "web", map[string]any{
		"outputs": map[string]any{"replicas": int64(1), "selector": "app=web"},
	})

	harness.Kubectl(t, dir)
	kubectl := exec.CommandContext(t.Context(), filepath.Join(dir, "kubectl"), "scale", "shop/web", "--replicas=3", "-n", c.Namespace)
	kubectl.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	if out, err := kubectl.CombinedOutput(); err != nil || !strings.Contains(string(out), "shop.scale.example.com/web scaled") {
		t.Fatalf("%v\n%s", err, out)
	}

	// An autoscaler reads the scale and writes it back with another number.
	shops := c.Await(t, "scale.example.com/v1alpha1", "Shop", "")
	object, err := shops.Get(t.Context(), "web", metav1.GetOptions{}, "scale")
	if err != nil {
		t.Fatal(err)
	}
	var scale autoscalingv1.Scale
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &scale); err != nil {
		t.Fatal(err)
	}
	if scale.Spec.Replicas != 3 || scale.Status.Replicas != 1 || scale.Status.Selector != "app=web" {
		t.Errorf("scale %+v", scale)
	}
	scale.Spec.Replicas = 5
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&scale)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shops.Update(t.Context(), &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{}, "scale"); err != nil {
		t.Fatal(err)
	}
	web := c.Get(t, "scale.example.com/v1alpha1", "Shop", "web")
	if n, _, _ := unstructured.NestedInt64(web.Object, "spec", "replicas"); n != 5 {
		t.Errorf("%d replicas after the autoscaler's write, not 5", n)
	}
	// The scale is subject to the schema of #Input.
	_ = unstructured.SetNestedField(content, int64(10), "spec", "replicas")
	_ = unstructured.SetNestedField(content, "", "metadata", "resourceVersion")
	if _, err := shops.Update(t.Context(), &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{}, "scale"); err == nil {
		t.Error("the API server accepts 10 replicas, and #Input doesn't")
	}
}
