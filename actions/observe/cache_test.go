package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestSlim checks what is kept of a graph: of its nodes only their identity, and nothing of their objects.
func TestSlim(t *testing.T) {
	t.Parallel()
	rg := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7", Generation: 2, Annotations: map[string]string{"large": "value", "pequod.io/applied-by": "Kustomization/flux-system/apps"},
		Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "team": "blue"},
	}}
	rg.Spec.Graph.Nodes = []v1alpha1.Node{
		{ID: "a", Dependencies: []string{"b"}, Resource: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":"b"}},"data":{"k":"v"}}`)}},
		{ID: "b", ExternalRef: &v1alpha1.ObjectRef{Kind: "Deployment"}},
		{ID: "c", Resource: &runtime.RawExtension{Raw: []byte("{")}},
	}
	rg.Status.History = []v1alpha1.Revision{{Revision: 2}}
	rg.Status.NodeStates = map[string]v1alpha1.NodeState{"a": {Phase: v1alpha1.NodeReady}}
	rg.Status.Outputs = map[string]runtime.RawExtension{"o": {}}

	want := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7", Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"},
		Annotations: map[string]string{"pequod.io/applied-by": "Kustomization/flux-system/apps"},
	}}
	want.Status.History = rg.Status.History
	if diff := cmp.Diff(want, slim(rg, false)); diff != "" {
		t.Errorf("without nodes (-want +got):\n%s", diff)
	}
	want.Generation, want.Status.NodeStates = 2, rg.Status.NodeStates
	want.Spec.Graph.Nodes = []v1alpha1.Node{
		{ID: "a", Resource: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":""}}`)}},
		{ID: "b", ExternalRef: &v1alpha1.ObjectRef{Kind: "Deployment"}},
		{ID: "c", Resource: &runtime.RawExtension{Raw: []byte(`{"apiVersion":"","kind":"","metadata":{"name":"","namespace":""}}`)}},
	}
	if diff := cmp.Diff(want, slim(rg, true)); diff != "" {
		t.Errorf("with nodes (-want +got):\n%s", diff)
	}
	if rg.Labels["team"] != "blue" || !strings.Contains(string(rg.Spec.Graph.Nodes[0].Resource.Raw), "data") {
		t.Error("the object of the watch was changed")
	}
	if kinds := len(Cache(Options{Events: true})); kinds != 2 || len(Cache(Options{Nodes: true})) != 1 {
		t.Errorf("%d kinds", kinds)
	}
}
