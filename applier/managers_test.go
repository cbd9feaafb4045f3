package applier_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
)

// createAs creates an object from YAML like another tool, by client-side apply.
func (b *env) createAs(manager, text string) {
	b.t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.resource(u.GetAPIVersion(), u.GetKind()).Create(b.t.Context(), u, metav1.CreateOptions{FieldManager: manager}); err != nil {
		b.t.Fatal(err)
	}
}

// wantManagers compares the managers of an object, apart from those of its status.
func (b *env) wantManagers(apiVersion, kind, name string, want ...string) {
	b.t.Helper()
	var got []string
	for _, entry := range b.Get(b.t, apiVersion, kind, name).GetManagedFields() {
		if entry.Subresource == "" {
			got = append(got, entry.Manager+" "+string(entry.Operation)+" "+entry.APIVersion)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		b.t.Errorf("managers of %s: %q; want %q", name, got, want)
	}
}

// explicitly allows a graph to adopt an object.
func explicitly(graph *v1alpha1.ResourceGraph, apiVersion, kind, name string) *v1alpha1.ResourceGraph {
	graph.Spec.Adopt = &v1alpha1.Adopt{Resources: []v1alpha1.ObjectRef{{APIVersion: apiVersion, Kind: kind, Name: name}}}
	return graph
}

// TestFieldsOfFormerTools adopts Deployments as Helm 3 and kubectl apply leave them.
// While such a tool owns a field, it stays when the graph stops setting it.
func TestFieldsOfFormerTools(t *testing.T) {
	t.Parallel()
	for _, tool := range []struct{ manager, labels, annotations string }{
		{"helm", "app.kubernetes.io/managed-by: Helm", "meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop"},
		{"kubectl-client-side-apply", "former: x", `kubectl.kubernetes.io/last-applied-configuration: "{}"`},
	} {
		t.Run(tool.manager, func(t *testing.T) {
			t.Parallel()
			b := newEnv(t)
			b.createAs(tool.manager, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {`+tool.labels+`}, annotations: {`+tool.annotations+`}}
spec:
  replicas: 0
  minReadySeconds: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: web, env: [{name: A, value: a}, {name: B, value: b}]}
      - {name: gone, image: gone}
`)
			b.patch("apps/v1", "Deployment", "web", "kubectl-rollout", `{"spec":{"template":{"metadata":{"annotations":{"restarted":"now"}}}}}`)
			graph := func(spec, env string) *v1alpha1.ResourceGraph {
				return explicitly(b.graph("g", `nodes: [{id: web, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web},
  spec: {replicas: 0, `+spec+`selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}},
    spec: {containers: [{name: web, image: web, env: [`+env+`]}]}}}}}]`), "apps/v1", "Deployment", "web")
			}
			containers := func() string {
				raw, err := json.Marshal(b.value("apps/v1", "Deployment", "web", "spec.template.spec.containers"))
				if err != nil {
					t.Fatal(err)
				}
				var list []struct {
					Name string
					Env  []struct{ Name string }
				}
				if err := json.Unmarshal(raw, &list); err != nil {
					t.Fatal(err)
				}
				raw, _ = json.Marshal(list)
				return string(raw)
			}

			b.wantOps(b.complete(graph("minReadySeconds: 1, ", "{name: A, value: a}, {name: B, value: b}")), "web adopted")
			if got, want := containers(), `[{"Name":"web","Env":[{"Name":"A"},{"Name":"B"}]}]`; got != want {
				t.Errorf("adopted: %s; want %s", got, want)
			}
			b.wantManagers("apps/v1", "Deployment", "web", "kubectl-rollout Update apps/v1", engine.FieldManager+" Apply apps/v1")
			live := b.Get(t, "apps/v1", "Deployment", "web")
			for _, name := range []string{"meta.helm.sh/release-name", "meta.helm.sh/release-namespace", "kubectl.kubernetes.io/last-applied-configuration"} {
				if value, ok := live.GetAnnotations()[name]; ok {
					t.Errorf("annotation %s is still %q", name, value)
				}
			}
			if got := live.GetLabels(); got["former"] != "" || got[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy {
				t.Errorf("labels %v", got)
			}

			b.wantOps(b.complete(graph("", "{name: B, value: b}")), "web configured")
			if got, want := containers(), `[{"Name":"web","Env":[{"Name":"B"}]}]`; got != want {
				t.Errorf("fields left the graph: %s; want %s", got, want)
			}
			b.wantValue("apps/v1", "Deployment", "web", "spec.minReadySeconds", nil)
			b.wantValue("apps/v1", "Deployment", "web", "spec.template.metadata.annotations.restarted", "now")
		})
	}
}

// TestVanishedVersion checks that objects can be applied, adopted and released although
// their managedFields name a version that their definition doesn't have any more. The
// API server refuses every apply of such an object, and ignores changes of its managedFields:
// https://github.com/kubernetes/kubernetes/issues/111937.
func TestVanishedVersion(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	group := b.Unique("vanished") + ".com"
	v1, v2 := group+"/v1", group+"/v2"
	graph := func(name, version, spec string) *v1alpha1.ResourceGraph {
		return b.graph(name, `nodes: [{id: box, applyPolicy: {deletionPolicy: Orphan}, resource: {apiVersion: `+version+`, kind: Box, metadata: {name: `+name+`}, spec: `+spec+`}}]`)
	}
	b.Cluster.Apply(t, versionedDefinition(group, "v1", false))
	b.complete(graph("applied", v1, `{a: "1", b: "1"}`))
	b.complete(graph("released", v1, `{a: "1"}`))
	b.createAs("helm", `{apiVersion: `+v1+`, kind: Box, metadata: {name: adopted, labels: {app.kubernetes.io/managed-by: Helm}}, spec: {a: "1", b: "1"}}`)
	former := b.resource(v1, "Box")
	boxes := []string{"applied", "adopted", "released"}
	for _, name := range boxes {
		if _, err := former.Patch(t.Context(), name, types.MergePatchType, []byte(`{"status":{"phase":"Fine"}}`),
			metav1.PatchOptions{FieldManager: "box-controller"}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	b.Cluster.Apply(t, versionedDefinition(group, "v1 v2", false))
	for _, name := range boxes { // stores them as v2
		b.patch(v2, "Box", name, "storage-migrator", `{"metadata":{"annotations":{"stored":"as v2"}}}`)
	}
	if _, err := b.resource("apiextensions.k8s.io/v1", "CustomResourceDefinition").Patch(t.Context(), "boxes."+group, types.MergePatchType,
		[]byte(`{"status":{"storedVersions":["v2"]}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	b.Cluster.Apply(t, versionedDefinition(group, "v2", false))
	b.eventually("v1 isn't served", func(ctx context.Context) bool {
		_, err := former.Get(ctx, "applied", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	_, err := b.resource(v2, "Box").Patch(t.Context(), "applied", types.ApplyPatchType, []byte(`{"apiVersion":"`+v2+`","kind":"Box"}`),
		metav1.PatchOptions{FieldManager: "x", DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		t.Fatal("the API server takes the vanished version")
	}
	t.Log(err)

	b.wantOps(b.complete(graph("applied", v2, `{a: "2"}`)), "box configured")
	b.wantOps(b.complete(explicitly(graph("adopted", v2, `{a: "2"}`), v2, "Box", "adopted")), "box adopted")
	for _, name := range boxes[:2] {
		b.wantValue(v2, "Box", name, "spec", map[string]any{"a": "2"})
		b.wantValue(v2, "Box", name, "status.phase", "Fine")
		b.wantManagers(v2, "Box", name, engine.FieldManager+" Apply "+v2, "storage-migrator Update "+v2)
	}
	b.delete("released")
	b.wantManagers(v2, "Box", "released", "storage-migrator Update "+v2)
	for _, name := range boxes {
		for _, entry := range b.Get(t, v2, "Box", name).GetManagedFields() {
			if entry.APIVersion != v2 {
				t.Errorf("%s: %s still has fields in %s", name, entry.Manager, entry.APIVersion)
			}
		}
	}
}
