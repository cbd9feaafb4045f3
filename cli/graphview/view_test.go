package graphview

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const web = `
metadata: {name: web-1a2b3c4d, namespace: default}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: WebService, name: web, namespace: default}
  graph:
    nodes:
    - id: deployment
      resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
      readyWhen: [{type: DeploymentAvailable}]
    - id: service
      resource: {apiVersion: v1, kind: Service, metadata: {name: web}}
      dependencies: [deployment]
`

const platform = `
metadata: {name: shop-99aabbcc, namespace: team}
spec:
  sourceRef: {apiVersion: pequod.io/v1alpha1, kind: Shop, name: shop}
  graph:
    nodes:
    - id: worker-high
      resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: worker}, spec: {paused: {$from: 'db.status.paused'}}}
      dependencies: [password]
    - id: worker_high
      resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: 'say "hi" <b>#1<b> \ & ` + "`x`" + `', namespace: other}}
    - id: password
      resource: {apiVersion: v1, kind: Secret, metadata: {name: password}, stringData: {p: {$generate: {length: 20}}}}
      applyPolicy: {mode: Create}
      readyWhen: [{type: Exists}]
    - id: db
      externalRef: {apiVersion: example.com/v1, kind: Database, name: main, namespace: other}
      readyWhen: [{type: ConditionMatch, conditionType: Synced}, {type: Expression, expr: object.ok}]
    - id: ns
      resource: {apiVersion: v1, kind: Namespace, metadata: {name: other}}
      applyPolicy: {mode: Apply}
    - id: end
      resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: end}}
`

func parse(t *testing.T, text string) *v1alpha1.ResourceGraph {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{}
	if err := yaml.UnmarshalStrict([]byte(text), rg); err != nil {
		t.Fatal(err)
	}
	return rg
}

func TestWrite(t *testing.T) {
	graphs := map[string][]*v1alpha1.ResourceGraph{
		"one":  {parse(t, web)},
		"two":  {parse(t, web), parse(t, platform)},
		"none": nil,
	}
	for name, graphs := range graphs {
		for _, format := range Formats {
			t.Run(name+"."+format, func(t *testing.T) {
				for _, rg := range graphs {
					for _, p := range graph.Check(rg) {
						t.Error(p)
					}
				}
				var b strings.Builder
				if err := Write(&b, format, 0, graphs...); err != nil {
					t.Fatal(err)
				}
				golden := filepath.Join("testdata", name+"."+format)
				if *update {
					if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), b.String()); diff != "" {
					t.Errorf("%s (-want +got):\n%s", golden, diff)
				}
			})
		}
	}
}

func TestWriteJSONIsAnArray(t *testing.T) {
	for _, graphs := range [][]*v1alpha1.ResourceGraph{nil, {parse(t, web)}, {parse(t, web), parse(t, platform)}} {
		var b strings.Builder
		if err := Write(&b, "json", 0, graphs...); err != nil {
			t.Fatal(err)
		}
		var got []map[string]any
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil || len(got) != len(graphs) {
			t.Errorf("%d graphs: %d in JSON, %v", len(graphs), len(got), err)
		}
	}
}

// With any characters in names, every line of Mermaid and DOT has one of few forms.
func TestWriteIsWellFormed(t *testing.T) {
	rg := parse(t, platform)
	rg.Name = "end\"; \\\" ] --> x\n#quot; `"
	rg.Spec.SourceRef.Name = "\\"
	for format, forms := range map[string]string{
		"mermaid": `^(flowchart TB| *end| *subgraph g\d+(w\d+)?\["[^"]*"\]| *g\d+n\d+(\["[^"]*"\]|\(\["[^"]*"\]\))| *g\d+n\d+ (-->|-\.->|-->\|"\$from"\|) g\d+n\d+)$`,
		"dot": `^(digraph pequod \{| *[{}]| *(rankdir=TB|node \[shape=box\]|rank=same);| *subgraph cluster_\d+ \{| *label="([^"\\]|\\.)*";` +
			`| *g\d+n\d+ \[label="([^"\\]|\\.)*"(, style=dashed)?\];| *g\d+n\d+ -> g\d+n\d+( \[(label="\$from"|style=dashed)\])?;)$`,
	} {
		var b strings.Builder
		if err := Write(&b, format, 0, rg); err != nil {
			t.Fatal(err)
		}
		form := regexp.MustCompile(forms)
		for line := range strings.Lines(b.String()) {
			if !form.MatchString(strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s: %s", format, line)
			}
		}
	}
}

// graphOf returns a graph of nodes that wait for others.
func graphOf(nodes int, needs func(node int) []int) *v1alpha1.ResourceGraph {
	rg := &v1alpha1.ResourceGraph{}
	for i := range nodes {
		n := v1alpha1.Node{ID: fmt.Sprint("n", i)}
		n.Resource = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n%d"}}`, i)}
		for _, k := range needs(i) {
			n.Dependencies = append(n.Dependencies, fmt.Sprint("n", k))
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, n)
	}
	return rg
}

// arrows finds the arrows of each format.
var arrows = map[string]string{"tree": "← n|, n", "mermaid": "-->", "dot": "->", "svg": "<title>n[0-9]+ waits for n", "html": "<div>n[0-9]+ in dependencies", "json": `"needs"`}

// All formats but JSON leave out the same arrows: those that others imply.
func TestImpliedArrows(t *testing.T) {
	all := graphOf(40, func(node int) (needs []int) {
		for i := range node {
			needs = append(needs, i)
		}
		return needs
	})
	for format, arrow := range arrows {
		var b strings.Builder
		if err := Write(&b, format, 0, all); err != nil {
			t.Fatal(err)
		}
		want := 39
		if format == "json" {
			want = 39 * 40 / 2
		}
		if got := len(regexp.MustCompile(arrow).FindAllString(b.String(), -1)); got != want {
			t.Errorf("%s: %d arrows; want %d", format, got, want)
		}
	}
}

// A drawing that would be too large is replaced with a sentence. Texts have the first
// dependencies of each node.
func TestTooLarge(t *testing.T) {
	const half = 230
	bipartite := graphOf(2*half, func(node int) (needs []int) {
		for i := range half {
			if node >= half {
				needs = append(needs, i)
			}
		}
		return needs
	})
	for format, arrow := range arrows {
		var b strings.Builder
		if err := Write(&b, format, 0, bipartite); err != nil {
			t.Fatal(err)
		}
		drawn := strings.Count(b.String(), "Too large for a drawing: 460 nodes with 52900 arrows.")
		want := map[string]int{"mermaid": 0, "dot": 0, "svg": 0, "html": half * 50, "tree": half * 50, "json": half * half}[format]
		if got := len(regexp.MustCompile(arrow).FindAllString(b.String(), -1)); got != want {
			t.Errorf("%s: %d arrows; want %d", format, got, want)
		}
		switch format {
		case "tree", "json":
			if drawn > 0 {
				t.Errorf("%s is no drawing", format)
			}
		default:
			if drawn != 1 || !strings.Contains(b.String(), "-o json has all nodes and dependencies.") {
				t.Errorf("%s: %d sentences", format, drawn)
			}
		}
		if more := strings.Count(b.String(), "and 180 more"); (format == "tree" || format == "html") && more != half {
			t.Errorf("%s: %d rows of %d are cut", format, more, half)
		}
	}
}

type full struct{ written int }

func (f *full) Write(p []byte) (int, error) {
	f.written += len(p)
	return 0, errors.New("disk full")
}

func TestWriteErrors(t *testing.T) {
	cyclic := parse(t, web)
	cyclic.Spec.Graph.Nodes[0].Dependencies = []string{"service"}
	for _, test := range []struct {
		format string
		graphs []*v1alpha1.ResourceGraph
		want   string
	}{
		{"tree", []*v1alpha1.ResourceGraph{parse(t, web), cyclic}, "graph web-1a2b3c4d: cycle: deployment → service → deployment"},
		{"tree", []*v1alpha1.ResourceGraph{parse(t, web)}, "disk full"},
	} {
		w := &full{}
		err := Write(w, test.format, 0, test.graphs...)
		if err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
		if w.written > 0 && test.want != "disk full" {
			t.Errorf("%d bytes were written beside the error %s", w.written, test.want)
		}
	}
}
