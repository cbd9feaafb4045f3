package objectdiff

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/graph"
)

// hasQuantities reports whether the API server stores the quantities of a kind in one form.
// Those of definitions are text.
func hasQuantities(k Key) bool {
	_, known := graph.ClusterScoped(schema.GroupKind{Group: k.Group, Kind: k.Kind})
	return known && k.Kind != "CustomResourceDefinition"
}

// isQuantity reports whether a path of a built-in kind leads to a quantity: see the fields of
// the type resource.Quantity in k8s.io/api.
func isQuantity(keys []string) bool {
	n := len(keys)
	return n > 0 && slices.Contains([]string{"sizeLimit", "divisor", "averageValue"}, keys[n-1]) ||
		n > 1 && slices.Contains([]string{
			"requests", "limits", "capacity", "hard", "podFixed",
			"default", "defaultRequest", "max", "min", "maxLimitRequestRatio",
		}, keys[n-2])
}

// sameQuantity reports whether two values are the same quantity, such as 1000m and 1.
func sameQuantity(a, b any) bool {
	x, err := resource.ParseQuantity(fmt.Sprint(a))
	if err != nil {
		return false
	}
	y, err := resource.ParseQuantity(fmt.Sprint(b))
	return err == nil && x.Cmp(y) == 0
}
