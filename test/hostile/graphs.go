// Package hostile has the graphs of a tenant who wants to stop the applier for all
// other tenants: by the time or the memory of expressions, by watches, by requests
// that hang or fail, or by writes without end. All graphs but two are within the
// limits of a graph, and cost as much as these allow.
//
// [Graphs] returns the graphs, and [Prepare] what they need in their namespace.
// [Disturb] does what the tenant does meanwhile.
package hostile

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Sort is a way to be hostile.
type Sort string

// The sorts.
const (
	Evaluation  Sort = "evaluation"  // expressions that take long
	Compilation Sort = "compilation" // expressions that take long to compile
	Readiness   Sort = "readiness"   // readiness expressions of an object that changes all the time
	Results     Sort = "results"     // expressions with results of gigabytes
	Values      Sort = "values"      // many large values
	Lists       Sort = "lists"       // lists that double
	TooMany     Sort = "too-many"    // more expressions than are allowed
	External    Sort = "external"    // as many references to objects of others as are allowed
	Hanging     Sort = "hanging"     // objects that a webhook never answers for
	Mutual      Sort = "mutual"      // two graphs that read each other
	Itself      Sort = "itself"      // a graph that reads itself
	Deleted     Sort = "deleted"     // an object that is deleted again and again
	Failing     Sort = "failing"     // thousands of nodes that fail
)

// mix is the number of graphs of each sort. They are 20 graphs.
var mix = []struct {
	Sort
	graphs int
}{
	{Evaluation, 3}, {Compilation, 2}, {Readiness, 2}, {Results, 1}, {Values, 2}, {Lists, 1}, {TooMany, 1},
	{External, 2}, {Hanging, 2}, {Mutual, 2}, {Itself, 1}, {Deleted, 1}, {Failing, 1},
}

// Weak is the name of a service account without rights.
const Weak = "weak"

// Graphs returns hostile graphs of a namespace. Their names are the sort and a
// number, such as "evaluation-0".
func Graphs(namespace string) []*v1alpha1.ResourceGraph {
	var graphs []*v1alpha1.ResourceGraph
	for _, m := range mix {
		for i := range m.graphs {
			graphs = append(graphs, Graph(namespace, m.Sort, i))
		}
	}
	return graphs
}

// Graph returns the i-th graph of a sort.
func Graph(namespace string, sort Sort, i int) *v1alpha1.ResourceGraph {
	name := fmt.Sprintf("%s-%d", sort, i)
	rg := graphOf(namespace, name, nodes[sort](name, i))
	if sort == Failing {
		rg.Spec.ServiceAccountName = Weak
	}
	return rg
}

// Small returns a graph that isn't hostile, with one object of the same name.
func Small(namespace, name string) *v1alpha1.ResourceGraph {
	return graphOf(namespace, name, []v1alpha1.Node{configMap("a", name, nil)})
}

func graphOf(namespace, name string, nodes []v1alpha1.Node) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	rg.APIVersion, rg.Kind = v1alpha1.GroupVersion.String(), "ResourceGraph"
	rg.Namespace, rg.Name = namespace, name
	rg.Spec.SourceRef = v1alpha1.ObjectRef{APIVersion: "example.com/v1", Kind: "Example", Name: name}
	rg.Spec.PlatformRef = v1alpha1.PlatformRef{Module: "example.com/hostile"}
	rg.Spec.Graph.Nodes = nodes
	hash, err := graph.RenderHash(rg.Spec.Graph)
	if err != nil {
		panic(err) // the nodes consist of constants
	}
	rg.Spec.RenderHash = hash
	return rg
}

// nodes returns the nodes of the i-th graph of a sort.
var nodes = map[Sort]func(name string, i int) []v1alpha1.Node{
	Evaluation: func(name string, i int) []v1alpha1.Node {
		return reading(name, strings.Repeat("1,", 300), 120, func(k int) string {
			return fmt.Sprintf("cm.data.a.split(',').all(a, cm.data.a.split(',').all(b, a+b != '%d-%d')) ? 'x' : 'y'", i, k)
		})
	},
	Compilation: func(name string, i int) []v1alpha1.Node {
		return reading(name, "a", 2, func(k int) string {
			return fmt.Sprintf("[%d,%d", i, k) + strings.Repeat(",cm.data.a=='b'?1:2", 95) + "].size() > 0 ? 'x' : 'y'"
		})
	},
	Readiness: func(name string, i int) []v1alpha1.Node {
		n := configMap("x", name, map[string]any{"a": strings.Repeat("1,", 60)})
		for k := range 150 {
			n.ReadyWhen = append(n.ReadyWhen, v1alpha1.ReadyCheck{
				Type: v1alpha1.ReadyExpression, Expr: fmt.Sprintf("[0].all(k, object.data.a.split(',').all(a, a != '%d-%d'))", i, k),
			})
		}
		return []v1alpha1.Node{n}
	},
	Results: func(name string, _ int) []v1alpha1.Node {
		return reading(name, strings.Repeat("a", 250_000), 400, func(k int) string {
			return fmt.Sprintf("cm.data.a.replace('a', cm.data.a) + '%d'", k)
		})
	},
	Values: func(name string, i int) []v1alpha1.Node {
		return reading(name, strings.Repeat("a", 200_000), 600, func(k int) string { return fmt.Sprintf("cm.data.a + '%d-%d'", i, k) })
	},
	Lists: func(name string, _ int) []v1alpha1.Node {
		return reading(name, "a", 25, func(k int) string {
			return fmt.Sprintf("string([[%d]]", k) + strings.Repeat(".map(x,x+x)", 8) + "[0].size())"
		})
	},
	TooMany: func(name string, _ int) []v1alpha1.Node {
		return reading(name, "a", 1500, func(k int) string { return fmt.Sprintf("cm.data.a + '%d'", k) })
	},
	External: func(name string, _ int) []v1alpha1.Node {
		return many(graph.MaxExternalRefs, func(k int) v1alpha1.Node {
			return v1alpha1.Node{
				ID:          fmt.Sprintf("n%d", k),
				ExternalRef: &v1alpha1.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprintf("%s-%d", name, k)},
			}
		})
	},
	Hanging: func(name string, _ int) []v1alpha1.Node {
		return many(40, func(k int) v1alpha1.Node {
			n := configMap(fmt.Sprintf("n%d", k), fmt.Sprintf("%s-%d", name, k), nil)
			n.Resource = object(map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap",
				"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", name, k), "labels": map[string]any{hangs: "true"}},
			})
			return n
		})
	},
	Mutual: func(_ string, i int) []v1alpha1.Node {
		own := configMap("own", fmt.Sprintf("mutual-%d", i), map[string]any{
			"count": map[string]any{"$from": "string(int(other.?data.?count.orValue('0')) + 1)"},
		})
		own.ApplyPolicy = &v1alpha1.ApplyPolicy{Mode: v1alpha1.ApplyModeAdopt}
		return []v1alpha1.Node{own, {
			ID: "other", ExternalRef: &v1alpha1.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: fmt.Sprintf("mutual-%d", 1-i)},
		}}
	},
	Itself: func(name string, _ int) []v1alpha1.Node {
		return []v1alpha1.Node{
			{ID: "me", ExternalRef: &v1alpha1.ObjectRef{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ResourceGraph", Name: name}},
			configMap("copy", name, map[string]any{"a": map[string]any{"$from": "me.status.phase"}}),
		}
	},
	Deleted: func(name string, _ int) []v1alpha1.Node { return []v1alpha1.Node{configMap("a", name, nil)} },
	Failing: func(name string, _ int) []v1alpha1.Node {
		return many(2000, func(k int) v1alpha1.Node {
			return configMap(fmt.Sprintf("n%d", k), fmt.Sprintf("%s-%d", name, k), nil)
		})
	},
}

// reading returns a ConfigMap and another one that reads it by a number of
// expressions.
func reading(name, source string, count int, expr func(k int) string) []v1alpha1.Node {
	data := map[string]any{}
	for k := range count {
		data[fmt.Sprintf("k%d", k)] = map[string]any{"$from": expr(k)}
	}
	return []v1alpha1.Node{configMap("cm", name+"-cm", map[string]any{"a": source}), configMap("x", name, data)}
}

// many returns a number of nodes.
func many(count int, node func(k int) v1alpha1.Node) []v1alpha1.Node {
	list := make([]v1alpha1.Node, count)
	for k := range list {
		list[k] = node(k)
	}
	return list
}

// configMap returns a node with a ConfigMap.
func configMap(id, name string, data map[string]any) v1alpha1.Node {
	return v1alpha1.Node{ID: id, Resource: object(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data,
	})}
}

// object returns an object as a node has it.
func object(v map[string]any) *runtime.RawExtension {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it consists of constants
	}
	return &runtime.RawExtension{Raw: raw}
}
