package foreign

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"
)

// KeptBy returns the annotation, or for Flux also the label, that makes a tool keep an
// object that left its inventory, "" if there is none.
func KeptBy(tool Tool, live *unstructured.Unstructured) string {
	for _, keep := range keeps[tool] {
		name, value, _ := strings.Cut(keep, "=")
		options := live.GetAnnotations()[name]
		if tool == Flux {
			options += "," + live.GetLabels()[name]
		}
		for v := range strings.SplitSeq(options, ",") {
			if strings.EqualFold(strings.TrimSpace(v), value) {
				return name + ": " + value
			}
		}
	}
	return ""
}

// The annotations of cli-utils. Its package common has them, too, and imports kubectl.
const (
	cliUtilsKeep = "cli-utils.sigs.k8s.io/on-remove=keep"
	detach       = "client.lifecycle.config.k8s.io/deletion=detach"
)

// keeps are the annotations of each tool, as NAME=VALUE.
var keeps = map[Tool][]string{
	Flux:     {"kustomize.toolkit.fluxcd.io/prune=disabled", "kustomize.toolkit.fluxcd.io/reconcile=disabled"},
	Kpt:      {cliUtilsKeep, detach},
	CLIUtils: {cliUtilsKeep, detach},
	Kapp:     {"kapp.k14s.io/delete-strategy=orphan"},
	Helm:     {"helm.sh/resource-policy=keep"},
	ArgoCD:   {"argocd.argoproj.io/sync-options=Prune=false", "argocd.argoproj.io/sync-options=Delete=false"},
}

// Text returns an object for messages, as in "Deployment.apps shop/web".
func Text(id object.ObjMetadata) string {
	name := id.Name
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return id.GroupKind.String() + " " + name
}

// KeepHint returns what makes a tool keep an object that left its inventory.
func KeepHint(tool Tool) string {
	return "annotate it with " + strings.Replace(keeps[tool][0], "=", ": ", 1)
}
