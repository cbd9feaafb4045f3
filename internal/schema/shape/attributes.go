package shape

import "github.com/pequod-io/pequod/internal/problem"

// Attributes are the arguments of the @k8s attributes of a field. They say what
// CUE has no words for; only the API server enforces them.
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
}
