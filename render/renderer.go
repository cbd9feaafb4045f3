package render

import (
	"fmt"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Options control what a rendering allows.
type Options struct {
	// AllowSecrets lets Secrets carry literal data.
	AllowSecrets bool
	// Policies are organization-wide policies. They see every instance.
	Policies []*Policy
	// Check checks each node of a graph that is valid in itself. object is the
	// node's resource, decoded, or nil. The problems need no position, and
	// paths that begin at the node. Check may be nil. Several goroutines call
	// it at once.
	Check func(n v1alpha1.Node, object map[string]any) problem.List
}

// Result is the outcome of rendering one instance.
type Result struct {
	Instance *Instance
	Platform *Platform
	// Graph is nil if Problems has an error.
	Graph *v1alpha1.ResourceGraph
	// Owned are the objects of the graph; see [graph.Graph.Owned].
	Owned []string
	// Positions has the places of the nodes in the module, by their ids.
	Positions map[string]problem.Position
	Problems  problem.List
}

// Clashes adds the objects of a rendered instance, [Result.Owned], to claims, and
// returns a problem for each object that an instance before it renders, too.
func Clashes(in *Instance, owned []string, claims *graph.Claims) problem.List {
	var ps problem.List
	for _, c := range claims.Add(in.Pos(), owned) {
		ps = append(ps, problem.Problem{
			Position: in.Pos(), Rule: problem.RuleDuplicate, Instance: in.String(),
			Message: fmt.Sprintf("%s is rendered by %s already", c.Object, c.First),
		})
	}
	return ps
}
