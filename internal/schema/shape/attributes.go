package shape

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/problem"
)

// Attributes are the arguments of the @k8s attributes of a field. They say what
// CUE has no words for; only the API server enforces them, and rendering the rules.
type Attributes struct {
	// Pos is the position of the field, for errors.
	Pos problem.Position
	// ListType and MapType are x-kubernetes-list-type and
	// x-kubernetes-map-type, empty if not given.
	ListType, MapType string
	// ListMapKeys are the fields that identify an item of a list of type map.
	ListMapKeys []string
	// Immutable adds the transition rule that the value can't change.
	Immutable bool
	// Column is the name of a printer column for the field, empty for none.
	// Priority is the priority of that column.
	Column   string
	Priority int32
	// Scale makes the field the number of replicas that the scale subresource
	// sets. ScaleStatus and ScaleSelector are the paths, such as .status.replicas,
	// of the number of replicas that exist and of the selector of their Pods;
	// ScaleSelector may be empty.
	Scale                      bool
	ScaleStatus, ScaleSelector string
	// Rules are the author's own rules in CEL, in the order of the source.
	Rules []OwnRule
}

// OwnRule is a rule in CEL about the value of a field, or about what is in it. On
// is then the path of that value: [] for the items of a list, .* for the values of
// a map, [].* for the values of maps in a list.
type OwnRule struct {
	On string
	apiextensionsv1.ValidationRule
}
