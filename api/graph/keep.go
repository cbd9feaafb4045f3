package graph

import (
	"slices"
	"strings"
)

// keepMarks are the annotations with which users tell other tools not to delete an
// object, with the values that mean so. The tools are, in this order: cli-utils and
// kpt, cli-utils alone, Flux, Helm, and Argo CD, whose value is a list of options. Flux
// reads labels, too. Argo CD deletes objects with the values confirm only after a user
// has confirmed that, which nothing asks for here, so they are kept.
var keepMarks = []struct {
	name   string
	label  bool // the mark may be a label, too
	values []string
}{
	{"client.lifecycle.config.k8s.io/deletion", false, []string{"detach"}},
	{"cli-utils.sigs.k8s.io/on-remove", false, []string{"keep"}},
	{"kustomize.toolkit.fluxcd.io/prune", true, []string{"disabled"}},
	{"kustomize.toolkit.fluxcd.io/reconcile", true, []string{"disabled"}},
	{"helm.sh/resource-policy", false, []string{"keep"}},
	{"argocd.argoproj.io/sync-options", false, []string{"Delete=false", "Prune=false", "Delete=confirm", "Prune=confirm"}},
}

// KeepReason returns why a decoded object must not be deleted: its first annotation
// or label that forbids that, in the form "annotated helm.sh/resource-policy: keep" or
// "labeled NAME: VALUE", and "" if it has none. Of a list of options it returns only
// the one that matters. Values match in any case, as they do for Helm and Flux.
func KeepReason(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	for _, keep := range keepMarks {
		if value := keepValue(annotations[keep.name], keep.values); value != "" {
			return "annotated " + keep.name + ": " + value
		}
		if !keep.label {
			continue
		}
		if value := keepValue(labels[keep.name], keep.values); value != "" {
			return "labeled " + keep.name + ": " + value
		}
	}
	return ""
}

// keepValue returns the first option in the value of an annotation or label that is one
// of the given values, "" if there is none.
func keepValue(text any, values []string) string {
	options, _ := text.(string)
	for option := range strings.SplitSeq(options, ",") {
		is := func(value string) bool { return strings.EqualFold(value, strings.TrimSpace(option)) }
		if i := slices.IndexFunc(values, is); i >= 0 {
			return values[i]
		}
	}
	return ""
}
