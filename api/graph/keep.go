package graph

import (
	"slices"
	"strings"
)

// keepAnnotations are the annotations with which users tell other tools not to
// delete an object, with the values that mean so. The tools are, in this order:
// cli-utils and kpt, cli-utils alone, Flux, Helm, and Argo CD, whose value is a list
// of options.
var keepAnnotations = []struct {
	name   string
	values []string
}{
	{"client.lifecycle.config.k8s.io/deletion", []string{"detach"}},
	{"cli-utils.sigs.k8s.io/on-remove", []string{"keep"}},
	{"kustomize.toolkit.fluxcd.io/prune", []string{"disabled"}},
	{"helm.sh/resource-policy", []string{"keep"}},
	{"argocd.argoproj.io/sync-options", []string{"Delete=false", "Prune=false"}},
}

// KeepAnnotation returns the first annotation of a decoded object that forbids its
// deletion, in the form "helm.sh/resource-policy: keep", and "" if it has none. Of a
// list of options it returns only the one that matters. Values match in any case, as
// they do for Helm and Flux.
func KeepAnnotation(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if len(annotations) == 0 {
		return ""
	}
	for _, keep := range keepAnnotations {
		text, _ := annotations[keep.name].(string)
		for option := range strings.SplitSeq(text, ",") {
			is := func(value string) bool { return strings.EqualFold(value, strings.TrimSpace(option)) }
			if i := slices.IndexFunc(keep.values, is); i >= 0 {
				return keep.name + ": " + keep.values[i]
			}
		}
	}
	return ""
}
