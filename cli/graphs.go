package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render"
)

// givenGraph is a ResourceGraph of the input: one that stands there, or that of an
// instance.
type givenGraph struct {
	*v1alpha1.ResourceGraph
	// pos is where the graph or the instance begins.
	pos problem.Position
}

// graphs gives the graphs of the input: documents that are ResourceGraphs as they
// are, and all others as instances, which are rendered. Modules are loaded only
// if there are instances. What is wrong with any of them is printed, and stops
// all of them.
func (f *renderFlags) graphs(ctx context.Context, s streams) ([]givenGraph, error) {
	files, err := f.files()
	if err != nil {
		return nil, err
	}
	r := &graphReader{namespace: f.namespace}
	for _, file := range files {
		shown, data, err := readInput(file, s.in)
		if err != nil {
			return nil, err
		}
		r.read(shown, data)
	}
	if err := r.render(ctx, f); err != nil {
		return nil, err
	}
	if !f.revisions {
		r.refuseDuplicates()
	}
	if err := printProblems(s.err, r.sum); err != nil {
		return nil, err
	}
	if r.sum.problems.Failed() {
		return nil, saidError{problemsCode(r.sum.problems)}
	}
	if len(r.found) == 0 {
		return nil, fmt.Errorf("no graphs and no instances in %s", strings.Join(f.filenames, ", "))
	}
	return r.found, ctx.Err()
}

// graphReader gathers graphs in the order of the input.
type graphReader struct {
	namespace string
	found     []givenGraph
	inputs    []input
	// at are the places in found that the graphs of inputs take.
	at  map[*render.Instance]int
	sum checks
}

func (r *graphReader) read(file string, data []byte) {
	for doc, ps := range yamlfile.Objects(file, data) {
		switch {
		case ps != nil:
			r.sum.add(file, nil, ps)
		case isResourceGraph(doc):
			g, ps := readGraph(doc, r.namespace)
			r.sum.problems = append(r.sum.problems, ps...)
			if !ps.Failed() {
				r.found = append(r.found, givenGraph{g, doc.PosOf(nil)})
			}
		default:
			in, ps := render.InstanceOf(doc)
			r.inputs = append(r.inputs, input{file, in, ps})
			if in == nil {
				continue
			}
			if r.at == nil {
				r.at = map[*render.Instance]int{}
			}
			r.at[in] = len(r.found)
			r.found = append(r.found, givenGraph{pos: in.Pos()})
		}
	}
}

func isResourceGraph(doc yamlfile.Document) bool {
	group, _, _ := strings.Cut(doc.Text("apiVersion"), "/")
	return group == v1alpha1.GroupVersion.Group && doc.Text("kind") == "ResourceGraph"
}

func (r *graphReader) render(ctx context.Context, f *renderFlags) error {
	if len(r.inputs) == 0 {
		return nil
	}
	sum, err := renderEach(ctx, f, slices.Values(r.inputs),
		func(res render.Result) (*v1alpha1.ResourceGraph, problem.List) { return res.Graph, nil },
		func(res rendered[*v1alpha1.ResourceGraph]) error {
			r.found[r.at[res.instance]].ResourceGraph = res.value
			return nil
		})
	r.sum.subjects = append(r.sum.subjects, sum.subjects...)
	r.sum.problems = append(r.sum.problems, sum.problems...)
	return err
}

// refuseDuplicates finds graphs that stand in the input twice.
func (r *graphReader) refuseDuplicates() {
	first := map[string]problem.Position{}
	for _, g := range r.found {
		if g.ResourceGraph == nil {
			continue // it has problems of its own
		}
		key := g.Namespace + "/" + g.Name
		if at, ok := first[key]; ok {
			r.sum.problems = append(r.sum.problems, problem.Problem{
				Position: g.pos, Rule: problem.RuleDuplicate, Message: fmt.Sprintf("graph %s stands at %s already", key, at),
			})
			continue
		}
		first[key] = g.pos
	}
}

// readGraph reads a ResourceGraph and holds it to all rules that are known
// without a cluster.
func readGraph(doc yamlfile.Document, namespace string) (*v1alpha1.ResourceGraph, problem.List) {
	if ps := doc.Check(); len(ps) > 0 {
		return nil, ps
	}
	if v := doc.Text("apiVersion"); v != v1alpha1.GroupVersion.String() {
		return nil, problem.List{{
			Position: doc.At("apiVersion"), Path: "apiVersion", Rule: problem.RuleGraph,
			Message: fmt.Sprintf("version %s of ResourceGraph is not known", v), Hint: "known: " + v1alpha1.GroupVersion.String(),
		}}
	}
	g := &v1alpha1.ResourceGraph{}
	if err := doc.Decode(g); err != nil {
		return nil, problemsOf(err)
	}
	if g.Namespace == "" {
		g.Namespace = namespace
	}
	ps := nameProblems(doc, g)
	for _, p := range graph.Read(g).Problems() {
		ps = append(ps, placed(doc, g, p))
	}
	for _, v := range g.Spec.Graph.Violations {
		ps = append(ps, violationProblem(doc, v))
	}
	// The hash tells revisions apart, also of a graph that was edited by hand.
	hash, err := graph.RenderHash(g.Spec.Graph)
	if err != nil {
		return nil, append(ps, problemsOf(doc.Problem(err))...)
	}
	g.Spec.RenderHash = hash
	return g, ps
}

func nameProblems(doc yamlfile.Document, g *v1alpha1.ResourceGraph) problem.List {
	var ps problem.List
	refuse := func(path string, wrong []string) {
		for _, message := range wrong {
			ps = append(ps, problem.Problem{Position: doc.At(path), Path: path, Rule: problem.RuleGraph, Message: message})
		}
	}
	if g.Name == "" {
		refuse("metadata.name", []string{"missing"})
	} else {
		refuse("metadata.name", validation.IsDNS1123Subdomain(g.Name))
	}
	refuse("metadata.namespace", validation.IsDNS1123Label(g.Namespace))
	return ps
}

// placed gives a problem of a graph its place in the document.
func placed(doc yamlfile.Document, g *v1alpha1.ResourceGraph, p graph.Problem) problem.Problem {
	at := "spec.graph." + p.Field
	if strings.HasPrefix(p.Field, "spec.") {
		at = p.Field
	}
	if p.Node != "" {
		i := slices.IndexFunc(g.Spec.Graph.Nodes, func(n v1alpha1.Node) bool { return n.ID == p.Node })
		at = strings.TrimSuffix(fmt.Sprintf("spec.graph.nodes[%d].%s", i, p.Field), ".")
	}
	return p.At(doc.At(at))
}

// violationProblem is what a policy found when the graph was rendered.
func violationProblem(doc yamlfile.Document, v v1alpha1.Violation) problem.Problem {
	p := problem.Problem{Position: doc.PosOf(nil), Path: graph.NodePath(v.Node, v.Path), Rule: problem.RulePolicy, Message: v.Message}
	switch v.Severity {
	case v1alpha1.SeverityWarning:
		p.Severity = problem.Warning
	case v1alpha1.SeverityInfo:
		p.Severity = problem.Note
	case v1alpha1.SeverityError:
	}
	return p
}
