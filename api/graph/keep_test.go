package graph

import "testing"

func TestKeepAnnotation(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        string
	}{
		{"client.lifecycle.config.k8s.io/deletion", "detach", "client.lifecycle.config.k8s.io/deletion: detach"},
		{"client.lifecycle.config.k8s.io/deletion", "delete", ""},
		{"cli-utils.sigs.k8s.io/on-remove", "keep", "cli-utils.sigs.k8s.io/on-remove: keep"},
		{"kustomize.toolkit.fluxcd.io/prune", "disabled", "kustomize.toolkit.fluxcd.io/prune: disabled"},
		{"kustomize.toolkit.fluxcd.io/prune", "Disabled", "kustomize.toolkit.fluxcd.io/prune: disabled"},
		{"kustomize.toolkit.fluxcd.io/prune", "enabled", ""},
		{"helm.sh/resource-policy", " Keep ", "helm.sh/resource-policy: keep"},
		{"helm.sh/resource-policy", "", ""},
		{"argocd.argoproj.io/sync-options", "Prune=false", "argocd.argoproj.io/sync-options: Prune=false"},
		{"argocd.argoproj.io/sync-options", "ServerSideApply=true, Delete=false", "argocd.argoproj.io/sync-options: Delete=false"},
		{"argocd.argoproj.io/sync-options", "Prune=true,Delete=true", ""},
		{"argocd.argoproj.io/sync-options", "PruneLast=false", ""},
		{"example.com/resource-policy", "keep", ""},
	} {
		object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{test.name: test.value}}}
		if got := KeepAnnotation(object); got != test.want {
			t.Errorf("%s: %q: %q, want %q", test.name, test.value, got, test.want)
		}
	}
	for _, object := range []map[string]any{nil, {"metadata": nil}, {"metadata": map[string]any{"annotations": map[string]any{"helm.sh/resource-policy": 1}}}} {
		if got := KeepAnnotation(object); got != "" {
			t.Errorf("%v: %q", object, got)
		}
	}
	both := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"helm.sh/resource-policy": "keep", "kustomize.toolkit.fluxcd.io/prune": "disabled",
	}}}
	if got, want := KeepAnnotation(both), "kustomize.toolkit.fluxcd.io/prune: disabled"; got != want {
		t.Errorf("two annotations: %q, want %q", got, want)
	}
}
