package graph

import "testing"

func TestKeepReason(t *testing.T) {
	for _, test := range []struct {
		name, value string
		want        string
	}{
		{"client.lifecycle.config.k8s.io/deletion", "detach", "annotated client.lifecycle.config.k8s.io/deletion: detach"},
		{"client.lifecycle.config.k8s.io/deletion", "delete", ""},
		{"cli-utils.sigs.k8s.io/on-remove", "keep", "annotated cli-utils.sigs.k8s.io/on-remove: keep"},
		{"kustomize.toolkit.fluxcd.io/prune", "disabled", "annotated kustomize.toolkit.fluxcd.io/prune: disabled"},
		{"kustomize.toolkit.fluxcd.io/prune", "Disabled", "annotated kustomize.toolkit.fluxcd.io/prune: disabled"},
		{"kustomize.toolkit.fluxcd.io/prune", "enabled", ""},
		{"kustomize.toolkit.fluxcd.io/reconcile", "Disabled", "annotated kustomize.toolkit.fluxcd.io/reconcile: disabled"},
		{"kustomize.toolkit.fluxcd.io/reconcile", "enabled", ""},
		{"kustomize.toolkit.fluxcd.io/ssa", "disabled", ""},
		{"helm.sh/resource-policy", " Keep ", "annotated helm.sh/resource-policy: keep"},
		{"helm.sh/resource-policy", "", ""},
		{"argocd.argoproj.io/sync-options", "Prune=false", "annotated argocd.argoproj.io/sync-options: Prune=false"},
		{"argocd.argoproj.io/sync-options", "ServerSideApply=true, Delete=false", "annotated argocd.argoproj.io/sync-options: Delete=false"},
		{"argocd.argoproj.io/sync-options", "Prune=confirm", "annotated argocd.argoproj.io/sync-options: Prune=confirm"},
		{"argocd.argoproj.io/sync-options", "Validate=false,delete=Confirm", "annotated argocd.argoproj.io/sync-options: Delete=confirm"},
		{"argocd.argoproj.io/sync-options", "Prune=true,Delete=true", ""},
		{"argocd.argoproj.io/sync-options", "PruneLast=false", ""},
		{"example.com/resource-policy", "keep", ""},
	} {
		object := map[string]any{"metadata": map[string]any{"annotations": map[string]any{test.name: test.value}}}
		if got := KeepReason(object); got != test.want {
			t.Errorf("%s: %q: %q, want %q", test.name, test.value, got, test.want)
		}
	}
	for _, object := range []map[string]any{nil, {"metadata": nil}, {"metadata": map[string]any{"annotations": map[string]any{"helm.sh/resource-policy": 1}}}} {
		if got := KeepReason(object); got != "" {
			t.Errorf("%v: %q", object, got)
		}
	}
	for name, want := range map[string]string{
		"kustomize.toolkit.fluxcd.io/prune":     "labeled kustomize.toolkit.fluxcd.io/prune: disabled",
		"kustomize.toolkit.fluxcd.io/reconcile": "labeled kustomize.toolkit.fluxcd.io/reconcile: disabled",
		"helm.sh/resource-policy":               "", // Helm reads annotations only
	} {
		object := map[string]any{"metadata": map[string]any{"labels": map[string]any{name: "disabled"}}}
		if got := KeepReason(object); got != want {
			t.Errorf("label %s: %q, want %q", name, got, want)
		}
	}
	both := map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"helm.sh/resource-policy": "keep", "kustomize.toolkit.fluxcd.io/prune": "disabled",
	}}}
	if got, want := KeepReason(both), "annotated kustomize.toolkit.fluxcd.io/prune: disabled"; got != want {
		t.Errorf("two annotations: %q, want %q", got, want)
	}
}
