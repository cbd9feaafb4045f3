package manifests

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
)

// dependsOnAnnotation lists objects, separated by commas, that must be applied
// and ready first. The format is that of sigs.k8s.io/cli-utils:
// GROUP/namespaces/NAMESPACE/KIND/NAME, or GROUP/KIND/NAME for cluster-scoped
// objects. The core group is empty.
const dependsOnAnnotation = "config.kubernetes.io/depends-on"

// dependsOnText returns the object of a node in that format.
func dependsOnText(n *graph.Node) string {
	gk := n.GroupKind()
	if n.Object.Namespace == "" {
		return strings.Join([]string{gk.Group, gk.Kind, n.Object.Name}, "/")
	}
	return strings.Join([]string{gk.Group, "namespaces", n.Object.Namespace, gk.Kind, n.Object.Name}, "/")
}

// dependsOn adds needs, the objects that the node waits for, to those that its
// author wrote.
func (p *plain) dependsOn(u *unstructured.Unstructured, n *graph.Node, needs []string) {
	var all []string
	if given := u.GetAnnotations()[dependsOnAnnotation]; given != "" {
		for part := range strings.SplitSeq(given, ",") {
			part = strings.TrimSpace(part)
			if fields := strings.Split(part, "/"); len(fields) != 3 && (len(fields) != 5 || fields[1] != "namespaces") {
				p.problem(n, annotationPath(dependsOnAnnotation), fmt.Sprintf("%q names no object", part),
					"group/namespaces/namespace/kind/name, or group/kind/name")
			}
			all = append(all, part)
		}
	}
	for _, need := range needs {
		if !slices.Contains(all, need) {
			all = append(all, need)
		}
	}
	if len(all) > 0 {
		setAnnotation(u, dependsOnAnnotation, strings.Join(all, ","))
	}
}

// setAnnotation sets an annotation and overwrites a present one.
func setAnnotation(u *unstructured.Unstructured, key, value string) {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	u.SetAnnotations(annotations)
}

// annotationPath returns the path of an annotation in a node.
func annotationPath(key string) string {
	return reference.Path{"resource", "metadata", "annotations", key}.String()
}
