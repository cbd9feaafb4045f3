package cluster

import "testing"

func TestPredecessors(t *testing.T) {
	for _, test := range []struct {
		manager, group string
		want           bool
	}{
		{"kubectl-client-side-apply", "", true},
		{"kubectl-edit", "", false},
		{"kube-controller-manager", "apps", false},
		{"kustomize-controller", "apps", true},
		{"kustomize-controller", "kustomize.toolkit.fluxcd.io", false},
		{"gotk-kustomize-controller", "apps", false},
		{"helm-controller", "helm.toolkit.fluxcd.io", false},
		{"argocd-application-controller", "apps", true},
		{"argocd-application-controller", "argoproj.io", false},
		{"pulumi-kubernetes-1a2b", "apps", true},
	} {
		if got := predecessorsOf(test.group)(test.manager); got != test.want {
			t.Errorf("%s in group %q: %t, want %t", test.manager, test.group, got, test.want)
		}
	}
}
