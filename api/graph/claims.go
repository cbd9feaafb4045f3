package graph

import (
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// Claims finds objects that several graphs contain. In a cluster an object belongs
// to one graph, so the other one fails or, with plain manifests, the two undo each
// other's changes. The zero value is ready.
type Claims struct {
	// first has the graph that claims an object, as an index in graphs.
	first  map[string]int
	graphs []problem.Position
}

// Clash is an object that an earlier graph contains, too.
type Clash struct {
	// Object is the object, as in [Graph.Owned].
	Object string
	// First is the position of the earlier graph.
	First problem.Position
}

// Add adds the objects of a graph, as [Graph.Owned] returns them, and returns those
// that a graph before it contains.
func (c *Claims) Add(at problem.Position, owned []string) []Clash {
	if c.first == nil {
		c.first = map[string]int{}
	}
	c.graphs = append(c.graphs, at)
	var clashes []Clash
	for _, object := range owned {
		if i, claimed := c.first[object]; claimed {
			clashes = append(clashes, Clash{object, c.graphs[i]})
			continue
		}
		c.first[object] = len(c.graphs) - 1
	}
	return clashes
}

// Cluster names the cluster of a graph's objects by its kubeconfig, as in "cluster of
// Secret shop/prod". It is "" for the cluster of the graph. Objects of the same name in
// clusters of different names are different objects.
func Cluster(rg *v1alpha1.ResourceGraph) string {
	if rg.Spec.KubeConfig == nil {
		return ""
	}
	ref := rg.Spec.KubeConfig.SecretRef
	name := "cluster of Secret " + strings.TrimPrefix(rg.Namespace+"/"+ref.Name, "/")
	if ref.Key != "" {
		name += ", key " + ref.Key
	}
	return name
}

// Owned returns the objects that the graph makes its own, in the form KIND.GROUP
// NAMESPACE/NAME without the parts that are empty, such as "deployment.apps
// shop/web" and "namespace/shop". Versions don't matter for identity. An object in
// another cluster is followed by that: "service shop/web (cluster of Secret shop/prod)".
// Objects that are only read are left out, and so are those that spec.adopt lists or mirrors: to
// list an object there hands it over from another graph on purpose. If the scope of
// a kind is unknown, the graph's namespace is assumed.
func (g *Graph) Owned() []string {
	adopt := g.source.Spec.Adopt
	if adopt != nil && adopt.Strategy == v1alpha1.AdoptMirror {
		return nil
	}
	where := ""
	if cluster := Cluster(g.source); cluster != "" {
		where = " (" + cluster + ")"
	}
	adopted := map[string]bool{}
	if adopt != nil {
		for _, ref := range adopt.Resources {
			adopted[g.objectKey(&Node{Object: ref})] = true
		}
	}
	owned := make([]string, 0, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.ExternalRef != nil || n.Object.Kind == "" {
			continue
		}
		if key := g.objectKey(n); !adopted[key] {
			owned = append(owned, key+where)
		}
	}
	return owned
}

// objectKey returns the key of a node's object; see [Graph.Owned].
func (g *Graph) objectKey(n *Node) string {
	gk := n.GroupKind()
	key := strings.ToLower(gk.Kind)
	if gk.Group != "" {
		key += "." + gk.Group
	}
	namespace := n.Object.Namespace
	cluster, known := g.ClusterScoped(gk)
	switch {
	case known && cluster:
		namespace = ""
	case namespace == "":
		namespace = g.source.Namespace
	}
	if namespace != "" {
		return key + " " + namespace + "/" + n.Object.Name
	}
	return key + "/" + n.Object.Name
}
