package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Sizes of a graph as JSON, in bytes.
const (
	// warnSize is the size above which client-side apply can't keep its
	// annotation, which is limited to 256 KiB.
	warnSize = 200 << 10
	// maxSize is the size above which the object with its status would come
	// near etcd's limit of 1.5 MiB for a request.
	maxSize = 700 << 10
)

// seal sets the graph's render hash and checks its size. The hash covers the
// graph alone, so a new version of the module that renders the same keeps the
// hash.
func seal(g *v1alpha1.ResourceGraph) problem.List {
	data, err := json.Marshal(g.Spec.Graph)
	if err != nil {
		return problem.List{{Rule: problem.RuleGraph, Message: err.Error()}}
	}
	g.Spec.RenderHash = graph.HashJSON(data)
	size := len(data)
	if size <= warnSize {
		return nil
	}
	p := problem.Problem{Rule: problem.RuleSize, Message: fmt.Sprintf("graph of %s is over %s, too much for client-side apply",
		kib(size), kib(warnSize)), Hint: "apply it with kubectl apply --server-side; " + largestNodes(g), Severity: problem.Warning}
	// The error replaces the warning, and client-side apply is no longer the point.
	if size > maxSize {
		p.Severity = problem.Error
		p.Message = fmt.Sprintf("graph of %s is over %s", kib(size), kib(maxSize))
		p.Hint = largestNodes(g)
	}
	return problem.List{p}
}

// kib formats a number of bytes in KiB, rounded up.
func kib(n int) string { return fmt.Sprintf("%d KiB", (n+1023)/1024) }

// largestNodes lists the five largest nodes with their sizes.
func largestNodes(g *v1alpha1.ResourceGraph) string {
	type sized struct {
		id   string
		size int
	}
	var nodes []sized
	for _, n := range g.Spec.Graph.Nodes {
		if n.Resource != nil {
			nodes = append(nodes, sized{n.ID, len(n.Resource.Raw)})
		}
	}
	slices.SortStableFunc(nodes, func(a, b sized) int { return b.size - a.size })
	var parts []string
	for i, n := range nodes {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("%d more", len(nodes)-i))
			break
		}
		parts = append(parts, n.id+" "+kib(n.size))
	}
	return "nodes: " + strings.Join(parts, ", ")
}
