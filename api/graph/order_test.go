package graph

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/object"
	upstream "sigs.k8s.io/cli-utils/pkg/object/graph"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

const ordered = `
nodes:
- {id: config, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {ip: {$from: service.spec.clusterIP}, ip2: {$from: nodes.service.x + deployment.x}}}, dependencies: [nobody]}
- {id: service, resource: {apiVersion: v1, kind: Service, metadata: {name: s}, spec: {x: {$from: deployment.x}}}, dependencies: [deployment, deployment]}
- {id: thing, resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: t}}}
- {id: other, resource: {apiVersion: example.com/v1, kind: Thing, metadata: {name: t, namespace: own}}, dependencies: [ns]}
- {id: cluster, resource: {apiVersion: v1, kind: PersistentVolume, metadata: {name: t, namespace: own}}}
- {id: ns, resource: {apiVersion: v1, kind: Namespace, metadata: {name: own}}}
- {id: team, externalRef: {apiVersion: v1, kind: Namespace, name: team}}
- {id: deployment, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}}
- {id: cert, externalRef: {apiVersion: cert-manager.io/v1, kind: Certificate, name: c, namespace: far}}
- {id: certcrd, externalRef: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: certificates.cert-manager.io}}
- {id: crd, resource: {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.example.com}, spec: {group: example.com, names: {kind: Thing}, scope: Namespaced}}}
`

func TestEdges(t *testing.T) {
	g := Read(parse(t, ordered))
	want := []Edge{
		{"config", "service", Reference, "resource.data.ip"},
		{"config", "deployment", Reference, "resource.data.ip2"},
		{"config", "team", Implied, ""},
		{"service", "deployment", Dependency, "dependencies[0]"},
		{"service", "team", Implied, ""},
		{"thing", "crd", Implied, ""},
		{"thing", "team", Implied, ""},
		{"other", "ns", Dependency, "dependencies[0]"},
		{"other", "crd", Implied, ""},
		{"deployment", "team", Implied, ""},
		{"cert", "certcrd", Implied, ""},
	}
	if diff := cmp.Diff(want, g.Edges()); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	waves, err := g.Waves()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{
		{"cluster", "ns", "team", "certcrd", "crd"}, {"thing", "other", "deployment", "cert"}, {"service"}, {"config"},
	}, waves); diff != "" {
		t.Errorf("waves (-want +got):\n%s", diff)
	}
	namespaces := map[string]string{}
	for _, n := range g.Nodes {
		namespaces[n.ID] = n.Object.Namespace
	}
	if diff := cmp.Diff(map[string]string{
		"config": "team", "service": "team", "thing": "team", "other": "own", "cluster": "", "ns": "", "team": "",
		"deployment": "team", "cert": "far", "certcrd": "", "crd": "",
	}, namespaces); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}

func TestWavesOfCycles(t *testing.T) {
	g := Read(parse(t, `
nodes:
- {id: c, dependencies: [a]}
- {id: a, dependencies: [b]}
- {id: b, dependencies: [c]}
- {id: d, dependencies: [d]}`))
	_, err := g.Waves()
	var cycle *CycleError
	if !errors.As(err, &cycle) || err.Error() != "cycle: c → a → b → c" {
		t.Errorf("Waves: %v", err)
	}
	if waves, err := Read(parse(t, "nodes: []")).Waves(); err != nil || len(waves) != 0 {
		t.Errorf("Waves of nothing: %v, %v", waves, err)
	}
}

// The number of cycles in a complete graph grows exponentially. Only some of them are
// reported.
func TestCyclesAreBounded(t *testing.T) {
	g := Read(dense(60, func(i, j int) bool { return i != j }))
	if got := len(g.cycles()); got != maxCycles {
		t.Errorf("%d cycles", got)
	}
}

func dense(n int, edge func(i, j int) bool) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	for i := range n {
		node := v1alpha1.Node{ID: fmt.Sprint("n", i)}
		for j := range n {
			if edge(i, j) {
				node.Dependencies = append(node.Dependencies, fmt.Sprint("n", j))
			}
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, node)
	}
	return rg
}

// The waves must equal those of sigs.k8s.io/cli-utils, so that pequod and tools such
// as kpt, which apply the plain manifests, use the same order.
func TestWavesAgainstCliUtils(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rg, objects := randomGraph(t, random)
		g := Read(rg)
		ours, err := g.Waves()
		if err != nil {
			t.Fatal(err)
		}
		sets, err := upstream.SortObjs(objects)
		if err != nil {
			t.Fatal(err)
		}
		var theirs [][]string
		for _, set := range sets {
			var wave []string
			for _, o := range set {
				wave = append(wave, o.GetLabels()["id"])
			}
			theirs = append(theirs, sorted(wave))
		}
		for i := range ours {
			ours[i] = sorted(ours[i])
		}
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Fatalf("waves (-cli-utils +ours):\n%s\nof %v", diff, g.Edges())
		}
	}
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// randomGraph returns an acyclic graph. Every node has a random rank and depends only
// on nodes of lower rank. Namespaces and CustomResourceDefinitions have the lowest
// ranks.
func randomGraph(t *testing.T, random *rand.Rand) (*v1alpha1.ResourceGraph, object.UnstructuredSet) {
	n := 1 + random.IntN(30)
	type made struct{ yaml, ref string }
	var nodes []made
	for i := range n {
		var text, ref string
		ns := fmt.Sprint("ns", random.IntN(4))
		switch kind := random.IntN(6); {
		case i < 4 && kind < 2:
			text = fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: ns%d, labels: {id: n%d}}}", i, i)
			ref = fmt.Sprintf("/Namespace/ns%d", i)
		case i < 4:
			text = fmt.Sprintf("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: k%ds.example.com, labels: {id: n%d}}, spec: {group: example.com, names: {kind: K%d}, scope: Namespaced}}", i, i, i)
			ref = fmt.Sprintf("apiextensions.k8s.io/CustomResourceDefinition/k%ds.example.com", i)
		case kind < 3:
			k := random.IntN(5)
			text = fmt.Sprintf("{apiVersion: example.com/v1, kind: K%d, metadata: {name: o%d, namespace: %s, labels: {id: n%d}}}", k, i, ns, i)
			ref = fmt.Sprintf("example.com/namespaces/%s/K%d/o%d", ns, k, i)
		case kind < 4:
			text = fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: o%d, labels: {id: n%d}}}", i, i)
			ref = fmt.Sprintf("rbac.authorization.k8s.io/ClusterRole/o%d", i)
		default:
			text = fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: o%d, namespace: %s, labels: {id: n%d}}}", i, ns, i)
			ref = fmt.Sprintf("/namespaces/%s/ConfigMap/o%d", ns, i)
		}
		nodes = append(nodes, made{text, ref})
	}
	lines := make([]string, n)
	objects := make(object.UnstructuredSet, n)
	order := random.Perm(n)
	for place, i := range order {
		var ids, refs []string
		for j := range min(i, 28) {
			if i >= 4 && random.IntN(6) == 0 {
				ids = append(ids, fmt.Sprint("n", j))
				refs = append(refs, nodes[j].ref)
			}
		}
		lines[place] = fmt.Sprintf("- {id: n%d, dependencies: [%s], resource: %s}", i, strings.Join(ids, ", "), nodes[i].yaml)
		objects[place] = toUnstructured(t, nodes[i].yaml)
		if len(refs) > 0 {
			objects[place].SetAnnotations(map[string]string{"config.kubernetes.io/depends-on": strings.Join(refs, ",")})
		}
	}
	return parse(t, "nodes:\n"+strings.Join(lines, "\n")), objects
}

func BenchmarkRead400(b *testing.B) {
	rg := large(b, "")
	b.ReportMetric(float64(len(rg.Spec.Graph.Nodes)), "nodes")
	for b.Loop() {
		g := Read(rg)
		if _, err := g.Waves(); err != nil {
			b.Fatal(err)
		}
		if p := g.Problems(); p != nil {
			b.Fatal(p)
		}
	}
}

func BenchmarkRead400WithReferences(b *testing.B) {
	rg := large(b, "{$from: n0.spec.replicas}")
	for b.Loop() {
		if p := Check(rg); p != nil {
			b.Fatal(p)
		}
	}
}

// large returns a graph of 400 Deployments of about 2 KiB each, in chains of six.
// One in ten has the given late reference.
func large(b *testing.B, from string) *v1alpha1.ResourceGraph {
	var text strings.Builder
	text.WriteString("nodes:\n")
	for i := range 400 {
		fmt.Fprintf(&text, "- id: n%d\n", i)
		if i%6 > 0 {
			fmt.Fprintf(&text, "  dependencies: [n%d]\n", i-1)
		}
		fmt.Fprintf(&text, "  resource:\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: n%d, labels: {app: n%d}}\n    spec:\n      replicas: 3\n", i, i)
		if from != "" && i%10 == 9 {
			fmt.Fprintf(&text, "      minReadySeconds: %s\n", from)
		}
		text.WriteString("      template:\n        spec:\n          containers:\n")
		for c := range 10 {
			fmt.Fprintf(&text, "          - {name: c%d, image: \"registry.example.com/team/app:1.2.3\", env: [{name: A, value: \"some text\"}], ports: [{containerPort: 8080}]}\n", c)
		}
	}
	return parse(b, text.String())
}

func toUnstructured(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}
