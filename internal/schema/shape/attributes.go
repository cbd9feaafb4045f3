package shape

import "github.com/pequod-io/pequod/internal/problem"

// attributes are what @k8s(…) says about a field.
type Attributes struct {
	Pos               problem.Position
	ListType, MapType string
	ListMapKeys       []string
	Immutable         bool
	Column            string
	Priority          int32
}
