package identity

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// prefix begins the names of the accounts of Transforms, see package roles.
const prefix = "pequod-transform-"

// Account returns the account of a graph that the manager made, in the manager's namespace.
// The error is a message to the user of the graph.
func Account(namespace string, rg *v1alpha1.ResourceGraph) (types.NamespacedName, error) {
	name := rg.Annotations[v1alpha1.AnnotationAccount]
	if !strings.HasPrefix(name, prefix) {
		return types.NamespacedName{}, fmt.Errorf("spec.serviceAccountName is empty, and the annotation %s has no account of a Transform but %q", v1alpha1.AnnotationAccount, name)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}
