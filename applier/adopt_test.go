package applier_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
)

// applyAs writes a ConfigMap like another tool: by server-side apply or by an update.
func (b *env) applyAs(manager, operation, object string) {
	b.t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(object)); err != nil {
		b.t.Fatal(err)
	}
	r := b.resource("v1", "ConfigMap")
	var err error
	if operation == "Apply" {
		_, err = r.Apply(b.t.Context(), u.GetName(), u, metav1.ApplyOptions{FieldManager: manager})
	} else {
		_, err = r.Create(b.t.Context(), u, metav1.CreateOptions{FieldManager: manager})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestAdoption(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ manager, operation string }{
		{"kubectl-client-side-apply", "Update"},
		{"kubectl", "Apply"},
		{"helm", "Update"},
		{"helm", "Apply"},
		{"pequod-operator", "Apply"},
		{"before-first-apply", "Update"},
		{"kustomize-controller", "Apply"},
		{"helm-controller", "Update"},
		{"argocd-controller", "Apply"},
		{"kapp", "Update"},
		{"timoni", "Apply"},
		{"Terraform", "Apply"},
		{"pulumi-kubernetes-1a2b", "Apply"},
	} {
		t.Run(test.manager+"-"+test.operation, func(t *testing.T) {
			t.Parallel()
			b := newEnv(t)
			b.applyAs(test.manager, test.operation, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","annotations":{"tool":"x"}},"data":{"a":"old","gone":"old"}}`)
			b.patch("v1", "ConfigMap", "c", "injector", `{"data":{"theirs":"stays"}}`)
			graph := b.graph("g", `nodes: [{id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: new}}}]`)
			b.stuck(graph, "c", engine.ReasonAdoptionRequired, "exists already and belongs to no graph")
			b.wantValue("v1", "ConfigMap", "c", "data.a", "old")
			b.wantValue("v1", "ConfigMap", "c", "metadata.labels", nil)

			graph.Spec.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit, Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}}}
			b.wantOps(b.complete(graph), "c adopted")
			b.wantValue("v1", "ConfigMap", "c", "data", map[string]any{"a": "new", "theirs": "stays"})
			b.wantValue("v1", "ConfigMap", "c", "metadata.annotations", nil)
			b.wantOps(b.complete(graph), "c unchanged")
			b.wantOwned("g", "ConfigMap c")
		})
	}
}

func TestAdoptionBySelectorAndMode(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.Cluster.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: chosen, labels: {team: a}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: other, labels: {team: b}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: moded}}`)
	graph := b.graph("g", `
nodes:
- {id: chosen, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: chosen, labels: {team: a}}, data: {a: x}}}
- {id: other, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: other, labels: {team: b}}, data: {a: x}}}
- {id: moded, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: moded}, data: {a: x}}, applyPolicy: {mode: Adopt}}
`)
	graph.Spec.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptLabelSelector, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}}
	b.wantOps(b.stuck(graph, "other", engine.ReasonAdoptionRequired, ""), "chosen adopted, other , moded adopted")
	b.wantValue("v1", "ConfigMap", "other", "data", nil)
}

func TestMirror(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.Cluster.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: theirs}}`)
	version := b.Get(t, "v1", "ConfigMap", "c").GetResourceVersion()
	graph := b.graph("g", `
nodes:
- {id: c, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: ours}}}
- {id: reader, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: reader}, data: {a: {$from: c.data.a}}}}
`)
	graph.Spec.Adopt = &v1alpha1.Adopt{
		Mode: v1alpha1.AdoptExplicit, Strategy: v1alpha1.AdoptMirror,
		Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}},
	}
	b.wantOps(b.complete(graph), "c observed, reader created")
	b.wantValue("v1", "ConfigMap", "reader", "data.a", "theirs")
	if got := b.Get(t, "v1", "ConfigMap", "c").GetResourceVersion(); got != version {
		t.Error("a mirrored object was written")
	}
	b.wantOwned("g", "ConfigMap reader")
}

func TestObjectsOfOtherGraphs(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.complete(b.graph("first", `nodes: [`+configMap("c", "c", "first")+`]`))
	second := b.graph("second", `nodes: [`+configMap("c", "c", "second")+`]`)
	b.stuck(second, "c", engine.ReasonOwnedElsewhere, "belongs to graph "+b.Namespace+"/first")
	b.wantValue("v1", "ConfigMap", "c", "data.a", "first")
	// Deleting the graph that never owned it doesn't touch it.
	b.delete("second")
	b.wantExists("v1", "ConfigMap", true, "c")

	// Listing it allows the adoption.
	second.Spec.Adopt = &v1alpha1.Adopt{Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "c"}}}
	b.wantOps(b.complete(second), "c adopted")
	b.wantValue("v1", "ConfigMap", "c", "data.a", "second")
	// The first graph doesn't own it any more: dropping it and deleting the graph leave
	// it alone.
	b.complete(b.graph("first", `nodes: [`+configMap("d", "d", "x")+`]`))
	b.wantExists("v1", "ConfigMap", true, "c")
	b.delete("first")
	b.wantExists("v1", "ConfigMap", true, "c")
	b.wantExists("v1", "ConfigMap", false, "d")
}

// TestHandOver moves an object from one graph to another, in either order.
func TestHandOver(t *testing.T) {
	t.Parallel()
	old := `nodes: [` + configMap("c", "c", "old") + `, ` + configMap("stays", "stays", "x") + `]`
	without := `nodes: [` + configMap("stays", "stays", "x") + `]`
	takes := `nodes: [` + configMap("c", "c", "new") + `]`
	t.Run("the new one first", func(t *testing.T) {
		t.Parallel()
		b := newEnv(t)
		b.complete(b.graph("from", old))
		uid := b.Get(t, "v1", "ConfigMap", "c").GetUID()
		b.stuck(b.graph("to", takes), "c", engine.ReasonOwnedElsewhere, "")
		if got, want := b.Get(t, "v1", "ConfigMap", "c").GetAnnotations()[v1alpha1.AnnotationClaimedBy], b.Namespace+"/to"; got != want {
			t.Errorf("claimed by %q; want %q", got, want)
		}
		b.wantOps(b.complete(b.graph("from", old)), "c unchanged, stays unchanged") // a claim is no drift
		b.wantOps(b.complete(b.graph("from", without)), "stays unchanged, c released")
		b.wantOps(b.complete(b.graph("to", takes)), "c configured")
		if got := b.Get(t, "v1", "ConfigMap", "c").GetAnnotations(); len(got) > 0 {
			t.Errorf("annotations %v", got)
		}
		b.wantValue("v1", "ConfigMap", "c", "data.a", "new")
		if b.Get(t, "v1", "ConfigMap", "c").GetUID() != uid {
			t.Error("the object was recreated")
		}
		b.wantOwned("from", "ConfigMap stays")
		b.wantOwned("to", "ConfigMap c")
	})
	t.Run("the old one first", func(t *testing.T) {
		t.Parallel()
		b := newEnv(t)
		b.complete(b.graph("from", old))
		uid := b.Get(t, "v1", "ConfigMap", "c").GetUID()
		// Both are siblings, so that the first knows the list of the second.
		to := b.graph("to", takes)
		b.options.Siblings = []*v1alpha1.ResourceGraph{to}
		b.wantOps(b.complete(b.graph("from", without)), "stays unchanged, c released")
		b.options.Siblings = nil
		b.complete(to)
		b.wantValue("v1", "ConfigMap", "c", "data.a", "new")
		if b.Get(t, "v1", "ConfigMap", "c").GetUID() != uid {
			t.Error("the object was recreated")
		}
		b.wantOwned("to", "ConfigMap c")
	})
}

func TestReleasedFieldsHaveNoOwner(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	orphaned := strings.Replace(configMap("c", "c", "x"), `{"id"`, `{"applyPolicy":{"deletionPolicy":"Orphan"},"id"`, 1)
	b.complete(b.graph("g", `nodes: [`+orphaned+`, `+configMap("d", "d", "x")+`]`))
	b.wantOps(b.complete(b.graph("g", `nodes: [`+configMap("d", "d", "x")+`]`)), "d unchanged, c released")
	obj := b.Get(t, "v1", "ConfigMap", "c")
	if len(obj.GetLabels()) > 0 {
		t.Errorf("labels: %v; want none", obj.GetLabels())
	}
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == engine.FieldManager {
			t.Errorf("%s still holds fields: %s", entry.Manager, entry.FieldsV1.GetRawString())
		}
	}
}
