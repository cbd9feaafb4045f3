package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/rbac"
	"github.com/pequod-io/pequod/operator/roles"
)

// TestEmbedded evaluates the samples of the embedded modules again, and checks that what is left of them
// in the file needs the same rights.
func TestEmbedded(t *testing.T) {
	all, err := evaluate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, err := encode(all)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../embedded.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("embedded.json is out of date: run make generate (-want +got):\n%s", diff)
	}
	for _, m := range all {
		compare(t, m.name, m.samples)
	}
}

// TestReduce does the same with objects whose content rights depend on.
func TestReduce(t *testing.T) {
	object := func(id, text string) v1alpha1.Node {
		return v1alpha1.Node{ID: id, Resource: &runtime.RawExtension{Raw: []byte(text)}, ReadyWhen: []v1alpha1.ReadyCheck{{Type: v1alpha1.ReadyExists}}}
	}
	role := func(verb string) string {
		return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["` + verb + `"]}]}`
	}
	first, second := &v1alpha1.ResourceGraph{}, &v1alpha1.ResourceGraph{}
	first.Namespace, second.Namespace = "example", "example"
	first.Spec.Graph.Nodes = []v1alpha1.Node{
		object("a", role("get")),
		object("b", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"a":"b"}},"data":{"a":"b"}}`),
		{ID: "c", ExternalRef: &v1alpha1.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: "read"}},
		object("d", `{"apiVersion":"example.org/v1","kind":"Queue","metadata":{"name":"q"}}`),
	}
	second.Spec.Graph.Nodes = []v1alpha1.Node{
		object("a", role("list")),
		object("b", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"a":"other"}}`),
		object("e", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}}`),
		object("f", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`),
	}
	second.Spec.Graph.Nodes[3].ApplyPolicy = &v1alpha1.ApplyPolicy{Mode: v1alpha1.ApplyModeCreate}
	samples := []*v1alpha1.ResourceGraph{first, second}
	compare(t, "samples", samples)
	nodes := 0
	for _, g := range roles.Reduce(samples) {
		nodes += len(g.Spec.Graph.Nodes)
	}
	if nodes != 7 {
		t.Errorf("%d nodes are left; want 7", nodes)
	}
}

// compare compares the rights that samples need with those of what is left of them.
func compare(t *testing.T, name string, samples []*v1alpha1.ResourceGraph) {
	t.Helper()
	find := func(kind schema.GroupKind) (rbac.Resource, error) {
		return rbac.Resource{Name: "all" + kind.Kind, Namespaced: true}, nil
	}
	for _, deletion := range []v1alpha1.DeletionPolicy{"", v1alpha1.DeletionOrphan} {
		want, wantErr := roles.Seen(samples, deletion, find)
		got, gotErr := roles.Seen(roles.Reduce(samples), deletion, find)
		if diff := cmp.Diff(want, got); diff != "" || message(wantErr) != message(gotErr) {
			t.Errorf("%s: (-samples +reduced):\n%s\n%v\n%v", name, diff, wantErr, gotErr)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
