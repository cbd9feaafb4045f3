package run

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/kube"
	"github.com/pequod-io/pequod/inventory"
)

// statusNames are the arguments of status.
type statusNames struct {
	// graphs are names of graphs, or of instances and objects that have one.
	graphs []string
	// outside are Actions, Monitors and Receivers.
	outside []inventory.Key
}

// empty reports whether there is no argument.
func (n statusNames) empty() bool { return len(n.graphs)+len(n.outside) == 0 }

// parseStatusNames returns the objects in the arguments NAME …, TYPE/NAME … or TYPE NAME …. Types
// are named as for kubectl. A NAME is that of a graph or an instance. In TYPE NAME …, TYPE is a kind of
// object that pequod-actions executes.
func parseStatusNames(args []string, namespace string) (statusNames, error) {
	var names statusNames
	if err := kube.CheckNames(namespace, nil); err != nil {
		return names, err
	}
	if len(args) > 1 && slices.Contains(outsideKinds, kube.OwnKind(args[0])) {
		kind := args[0]
		args = slices.Clone(args[1:])
		for i, name := range args {
			if strings.Contains(name, "/") {
				return names, fmt.Errorf("%q: want TYPE/NAME or TYPE NAME, not both", name)
			}
			args[i] = kind + "/" + name
		}
	}
	for _, arg := range args {
		kind, name, _ := strings.Cut(arg, "/")
		own := kube.OwnKind(kind)
		switch {
		case own != "" && own != "ResourceGraph" && !slices.Contains(outsideKinds, own) && name != "":
			return names, fmt.Errorf("%q: only ResourceGraphs, Actions, Monitors and Receivers have a status here", kind)
		case name == "" || !slices.Contains(outsideKinds, own):
			if err := kube.CheckGraphArgs(namespace, []string{arg}); err != nil {
				return names, err
			}
			names.graphs = append(names.graphs, arg)
		case len(validation.IsDNS1123Subdomain(name)) > 0:
			return names, fmt.Errorf("%q is not a valid name", name)
		default:
			names.outside = append(names.outside, inventory.Key{Group: v1alpha1.Group, Kind: own, Namespace: namespace, Name: name})
		}
	}
	return names, nil
}
