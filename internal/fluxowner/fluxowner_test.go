package fluxowner

import "testing"

// TestOf checks which labels name an object: both that of its name and that of its namespace.
func TestOf(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
	by := Of(labels)
	if by == nil || by.Kind != "Kustomization" || by.Namespace+"/"+by.Name != "flux-system/apps" || !Is(by, Kustomization) || Is(by, HelmRelease) {
		t.Errorf("a Kustomization: %v", by)
	}
	if Related(labels) == nil {
		t.Error("a Kustomization isn't related")
	}
	if by := Of(map[string]string{"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "shop"}); !Is(by, HelmRelease) {
		t.Errorf("a HelmRelease: %v", by)
	}
	if back := Parse(Text(labels)); back == nil || *back != *by {
		t.Errorf("%s is %v, want %v", Text(labels), back, by)
	}
	for _, text := range []string{"", "Kustomization", "Kustomization/flux-system/", "Kustomization//apps", "Secret/shop/db", "Kustomization/a/b/c"} {
		if by := Parse(text); by != nil {
			t.Errorf("%q is %v", text, by)
		}
	}
	for _, labels := range []map[string]string{nil, {"helm.toolkit.fluxcd.io/name": "web"}, {"kustomize.toolkit.fluxcd.io/namespace": "shop"}} {
		if Of(labels) != nil || Related(labels) != nil || Text(labels) != "" {
			t.Errorf("%v names an object", labels)
		}
	}
}
