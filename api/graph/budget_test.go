package graph_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// configMap returns a node with a ConfigMap whose data are late references.
func configMap(id string, exprs ...string) v1alpha1.Node {
	data := map[string]any{}
	for i, expr := range exprs {
		data[fmt.Sprintf("k%04d", i)] = map[string]any{"$from": expr}
	}
	raw, _ := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": id}, "data": data,
	})
	return v1alpha1.Node{ID: id, Resource: &runtime.RawExtension{Raw: raw}}
}

func external(id string) v1alpha1.Node {
	return v1alpha1.Node{ID: id, ExternalRef: &v1alpha1.ObjectRef{APIVersion: "v1", Kind: "ConfigMap", Name: id}}
}

func times(n int, text func(i int) string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return all
}

func TestBudget(t *testing.T) {
	var externals, many []v1alpha1.Node
	for i := range graph.MaxExternalRefs + 1 {
		externals = append(externals, external(fmt.Sprintf("x%d", i)))
	}
	for i := range graph.MaxNodes + 1 {
		many = append(many, configMap(fmt.Sprintf("n%d", i)))
	}
	equal := func(int) string { return "cm.data.a" }
	long := func(i int) string { return fmt.Sprintf("'%04d%s'", i, strings.Repeat("x", 90)) }
	for _, test := range []struct {
		name  string
		nodes []v1alpha1.Node
		want  string
	}{
		{"expressions", []v1alpha1.Node{configMap("cm"), configMap("a", times(1001, equal)...)},
			"nodes: the graph has 1001 late references and readiness expressions; the limit is 1000 (split the graph)"},
		{"at the limit", []v1alpha1.Node{configMap("cm"), configMap("a", times(1000, equal)...)}, ""},
		{"bytes", []v1alpha1.Node{configMap("a", times(700, long)...)},
			"nodes: the graph has 67200 bytes of expressions; the limit is 65536 (split the graph)"},
		{"equal ones count once", []v1alpha1.Node{configMap("a", times(900, func(int) string { return long(0) })...)}, ""},
		{"externalRefs", externals, "nodes: the graph has 101 nodes with an externalRef; the limit is 100 (split the graph)"},
		{"nodes", many, "nodes: the graph has 2501 nodes; the limit is 2500 (split the graph)"},
		{"length", []v1alpha1.Node{configMap("a", "'"+strings.Repeat("x", 4096)+"'")},
			"node a: resource.data.k0000: the expression is 4098 bytes long; the limit is 4096"},
		{"operations", []v1alpha1.Node{configMap("cm"), configMap("a", "cm.a"+strings.Repeat("&&cm.a", 501))},
			"node a: resource.data.k0000: the expression has 501 operations; the limit is 500"},
		{"compilation", []v1alpha1.Node{configMap("cm"), configMap("a", times(16, func(i int) string {
			return fmt.Sprintf("[%d", i) + strings.Repeat(",cm.data.a=='b'?1:2", 100) + "].size()"
		})...)}, fmt.Sprintf("nodes: compiling the graph's expressions costs more than %d (split the graph)", reference.MaxCompileCost)},
		{"compilation of mistakes", []v1alpha1.Node{configMap("cm"), configMap("a", times(16, func(i int) string {
			return fmt.Sprintf("[%d", i) + strings.Repeat(",cm.data.a=='b'?1:2", 100) + "].siz()"
		})...)}, fmt.Sprintf("nodes: compiling the graph's expressions costs more than %d (split the graph)", reference.MaxCompileCost)},
		{"optional macros", []v1alpha1.Node{configMap("cm"), configMap("a", "cm.?a"+strings.Repeat(".optMap(x,x)", 40))},
			"node a: resource.data.k0000: the expression calls optMap and optFlatMap 40 times; the limit is 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rg := &v1alpha1.ResourceGraph{}
			rg.Name, rg.Namespace, rg.Spec.Graph.Nodes = "g", "ns", test.nodes
			problems := graph.Check(rg)
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
			}
			if text := strings.Join(got, "\n"); text != test.want {
				t.Errorf("got  %.300s\nwant %s", text, test.want)
			}
			if _, over := graph.OverBudget(problems); over != (test.want != "") {
				t.Errorf("over budget: %t", over)
			}
		})
	}
}

// A graph over budget isn't compiled: its other mistakes aren't found.
func TestOverBudgetIsNotCompiled(t *testing.T) {
	rg := &v1alpha1.ResourceGraph{}
	rg.Spec.Graph.Nodes = []v1alpha1.Node{configMap("a", times(1001, func(int) string { return "syntax error" })...)}
	if problems := graph.Check(rg); len(problems) != 1 {
		t.Errorf("%d problems", len(problems))
	}
}

// Reading only the objects of a graph compiles nothing, so it is cheap for the
// graphs of a whole namespace.
func TestReadObjects(t *testing.T) {
	rg := &v1alpha1.ResourceGraph{}
	rg.Namespace, rg.Spec.Graph.Nodes = "ns", []v1alpha1.Node{configMap("cm"), configMap("a", "cm.data.a"), external("x")}
	g := graph.ReadObjects(rg)
	for i, want := range []string{"cm", "a", "x"} {
		if got := g.Nodes[i].Object; got.Name != want || got.Namespace != "ns" {
			t.Errorf("object %v", got)
		}
		if g.Nodes[i].References != nil {
			t.Error("references were compiled")
		}
	}
}

func TestReadsItself(t *testing.T) {
	for name, ref := range map[string]v1alpha1.ObjectRef{
		"without namespace": {APIVersion: v1alpha1.GroupVersion.String(), Kind: "ResourceGraph", Name: "g"},
		"with namespace":    {APIVersion: v1alpha1.GroupVersion.String(), Kind: "ResourceGraph", Name: "g", Namespace: "ns"},
	} {
		rg := &v1alpha1.ResourceGraph{}
		rg.Name, rg.Namespace, rg.Spec.Graph.Nodes = "g", "ns", []v1alpha1.Node{{ID: "me", ExternalRef: &ref}}
		const want = "node me: externalRef: is the graph itself (read what another graph or object has)"
		if problems := graph.Check(rg); len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%s: %v", name, problems)
		}
		rg.Name = "other"
		if problems := graph.Check(rg); len(problems) > 0 {
			t.Errorf("%s, of another graph: %v", name, problems)
		}
	}
}

func TestVolatileMetadata(t *testing.T) {
	const hint = " (it changes with every write of the object; read metadata.generation or a field of the spec or status)"
	for expr, want := range map[string]string{
		"cm.metadata.resourceVersion":        "node a: resource.data.k0000: reads cm.metadata.resourceVersion" + hint,
		"cm.metadata['managedFields'][0].x":  "node a: resource.data.k0000: reads cm.metadata.managedFields" + hint,
		"cm.metadata.generation":             "",
		"cm.metadata.labels.resourceVersion": "",
	} {
		rg := &v1alpha1.ResourceGraph{}
		rg.Spec.Graph.Nodes = []v1alpha1.Node{configMap("cm"), configMap("a", expr)}
		got := ""
		if problems := graph.Check(rg); len(problems) > 0 {
			got = problems[0].String()
		}
		if got != want {
			t.Errorf("%s: %q; want %q", expr, got, want)
		}
		rg.Spec.Graph.Nodes = rg.Spec.Graph.Nodes[:1]
		rg.Spec.Graph.Outputs = map[string]runtime.RawExtension{"o": {Raw: []byte(`{"$from": "` + expr + `"}`)}}
		if problems := graph.Check(rg); (len(problems) > 0) != (want != "") {
			t.Errorf("output %s: %v", expr, problems)
		}
	}
}
