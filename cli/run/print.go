package run

import (
	"cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/kube"
)

// graphName returns a graph as kubectl names it.
func graphName(name string) string {
	return kube.ResourceName(v1alpha1.GroupVersion.Group, "ResourceGraph", name)
}

// orNone returns the text of a column, which may have none.
func orNone(text string) string { return cmp.Or(text, "<none>") }
