package input

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render"
	"github.com/pequod-io/pequod/render/ownkinds"
)

// Graph is a graph of the input: a ResourceGraph document, or the rendered graph of
// an instance.
type Graph struct {
	*v1alpha1.ResourceGraph
	// Pos is the position of the document, for problems of the graph as a whole.
	Pos problem.Position
	// Rendered is set if the document is an instance, and not set if it is the graph.
	Rendered bool
	// owned are the objects of the graph; see [graph.Graph.Owned].
	owned []string
}

// ReadGraphs returns the graphs of the input in its order: documents that are
// ResourceGraphs as they are, and all others as instances, which it renders. It
// loads modules only if there are instances.
//
// The steps are: read all documents, render the instances, check for duplicates,
// print all problems. If one of the problems is an error, ReadGraphs returns no
// graph at all and the error for the exit code. An input without graphs and
// instances is an error.
func (f *RenderFlags) ReadGraphs(ctx context.Context, env command.Env) ([]Graph, error) {
	paths, err := f.Paths()
	if err != nil {
		return nil, err
	}
	r := &graphReader{namespace: f.Namespace}
	for _, file := range paths {
		shown, data, err := files.ReadInput(ctx, file, env.In)
		if err != nil {
			return nil, err
		}
		r.read(shown, data)
	}
	if err := r.render(ctx, f); err != nil {
		return nil, err
	}
	if !f.AllowRevisions {
		r.refuseDuplicates()
	}
	if err := PrintProblems(env.Err, r.sum); err != nil {
		return nil, err
	}
	if r.sum.Problems.Failed() {
		return nil, command.ExitError{Code: command.ProblemsExitCode(r.sum.Problems)}
	}
	if len(r.found) == 0 {
		return nil, fmt.Errorf("no graphs and no instances in %s", strings.Join(f.Filenames, ", "))
	}
	return r.found, ctx.Err()
}

// graphReader collects graphs in the order of the input, in two phases: read
// takes all documents and leaves a gap for each instance, and render fills the
// gaps. For a file with a graph a, an instance b and a graph c, found is [a, gap,
// c] after read, and gaps maps b to 1.
type graphReader struct {
	// namespace is the namespace of graphs that name none.
	namespace string
	// found are the graphs, and gaps for instances, in the order of the input.
	found []Graph
	// instances are the documents to render.
	instances []candidate
	// gaps are the indexes in found of the graphs of the instances.
	gaps map[*render.Instance]int
	// sum has the problems of both phases.
	sum Checks
}

// read adds the documents of one file. A document that is neither a graph nor an
// instance is kept as a candidate without an instance; rendering reports it.
func (r *graphReader) read(file string, data []byte) {
	for doc, ps := range yamlfile.Objects(file, data) {
		switch {
		case ps != nil:
			r.sum.add(file, nil, ps)
		case IsResourceGraph(doc):
			g, ps := readGraph(doc, r.namespace)
			r.sum.Problems = append(r.sum.Problems, ps...)
			if !ps.Failed() {
				r.found = append(r.found, g)
			}
		default:
			in, ps := render.InstanceOf(doc)
			r.instances = append(r.instances, candidate{file, in, ps})
			if in == nil {
				continue
			}
			if r.gaps == nil {
				r.gaps = map[*render.Instance]int{}
			}
			r.gaps[in] = len(r.found)
			r.found = append(r.found, Graph{Pos: in.Pos()})
		}
	}
}

// IsResourceGraph reports whether a document is a ResourceGraph of any version. A
// ResourceGraph of an unknown version is not taken for an instance: the error
// would then be a missing platform instead of the version.
func IsResourceGraph(doc yamlfile.Document) bool {
	group, _, _ := strings.Cut(doc.Text("apiVersion"), "/")
	return group == v1alpha1.GroupVersion.Group && doc.Text("kind") == "ResourceGraph"
}

// render renders the instances and fills in their graphs. The graphs of wrong
// instances stay nil.
func (r *graphReader) render(ctx context.Context, f *RenderFlags) error {
	if len(r.instances) == 0 {
		return nil
	}
	sum, err := renderEach(ctx, f, slices.Values(r.instances),
		func(res render.Result) (*v1alpha1.ResourceGraph, problem.List) { return res.Graph, nil },
		func(res Rendered[*v1alpha1.ResourceGraph]) error {
			g := &r.found[r.gaps[res.Instance]]
			g.ResourceGraph, g.owned, g.Rendered = res.Value, res.owned, true
			return nil
		})
	r.sum.Subjects = append(r.sum.Subjects, sum.Subjects...)
	r.sum.Problems = append(r.sum.Problems, sum.Problems...)
	return err
}

// refuseDuplicates reports graphs that are in the input twice, and objects that are
// in two graphs. Two graphs of one name would undo each other's changes in the
// cluster, and an object belongs to one graph.
func (r *graphReader) refuseDuplicates() {
	first := map[string]problem.Position{}
	var claims graph.Claims
	for _, g := range r.found {
		if g.ResourceGraph == nil {
			continue // its instance has errors
		}
		key := g.Namespace + "/" + g.Name
		if at, ok := first[key]; ok {
			r.sum.Problems = append(r.sum.Problems, problem.Problem{
				Position: g.Pos, Rule: problem.RuleDuplicate, Message: fmt.Sprintf("graph %s stands at %s already", key, at),
			})
			continue
		}
		first[key] = g.Pos
		for _, c := range claims.Add(g.Pos, g.owned) {
			r.sum.Problems = append(r.sum.Problems, problem.Problem{
				Position: g.Pos, Rule: problem.RuleDuplicate,
				Message: fmt.Sprintf("%s is in the graph at %s already", c.Object, c.First),
				Hint:    "to hand it over, list it in spec.adopt.resources of the graph that takes it",
			})
		}
	}
}

// readGraph decodes a ResourceGraph and checks it against all rules that need no
// cluster. namespace is the namespace of a graph without one. The graph is empty if
// it can't be decoded. Violations that a policy recorded at rendering are
// problems here, so that a rendered graph is refused like its instance.
func readGraph(doc yamlfile.Document, namespace string) (Graph, problem.List) {
	if ps := doc.Check(); len(ps) > 0 {
		return Graph{}, ps
	}
	if v := doc.Text("apiVersion"); v != v1alpha1.GroupVersion.String() {
		return Graph{}, problem.List{{
			Position: doc.At("apiVersion"), Path: "apiVersion", Rule: problem.RuleGraph,
			Message: fmt.Sprintf("version %s of ResourceGraph is not known", v), Hint: "known: " + v1alpha1.GroupVersion.String(),
		}}
	}
	g := &v1alpha1.ResourceGraph{}
	if err := doc.Decode(g); err != nil {
		return Graph{}, ProblemsOf(err)
	}
	if g.Namespace == "" {
		g.Namespace = namespace
	}
	// From here on the graph is returned along with its problems; the caller drops
	// it if one of them is an error.
	ps := nameProblems(doc, g)
	read := graph.Read(g)
	for _, p := range read.Problems() {
		ps = append(ps, placed(doc, g, p))
	}
	for _, p := range ownProblems(g) {
		ps = append(ps, placed(doc, g, p))
	}
	for _, v := range g.Spec.Graph.Violations {
		p := graph.ViolationProblem(v)
		p.Position = doc.PosOf(nil)
		ps = append(ps, p)
	}
	// The hash identifies the revision. It is computed here because a graph may
	// have been edited by hand since it was rendered.
	hash, err := graph.RenderHash(g.Spec.Graph)
	if err != nil {
		return Graph{}, append(ps, ProblemsOf(doc.Problem(err))...)
	}
	g.Spec.RenderHash = hash
	return Graph{g, doc.PosOf(nil), false, read.Owned()}, ps
}

// ownProblems returns the problems of nodes with kinds of Pequod, such as Action.
func ownProblems(g *v1alpha1.ResourceGraph) (all []graph.Problem) {
	for _, n := range g.Spec.Graph.Nodes {
		var object map[string]any
		if n.Resource == nil || json.Unmarshal(n.Resource.Raw, &object) != nil {
			continue // graph.Read has the problem
		}
		for _, p := range ownkinds.Check(n, object) {
			field := p.Path
			p.Path = graph.NodePath(n.ID, field)
			all = append(all, graph.Problem{Node: n.ID, Field: field, Problem: p})
		}
	}
	return all
}

// nameProblems checks the name and namespace of a graph, which the API server
// would reject only after objects are applied.
func nameProblems(doc yamlfile.Document, g *v1alpha1.ResourceGraph) problem.List {
	var ps problem.List
	refuse := func(path string, wrong []string) {
		for _, message := range wrong {
			ps = append(ps, problem.Problem{Position: doc.At(path), Path: path, Rule: problem.RuleGraph, Message: message})
		}
	}
	switch {
	case g.Name == "":
		refuse("metadata.name", []string{"missing"})
	case len(g.Name) > validation.LabelValueMaxLength:
		refuse("metadata.name", []string{fmt.Sprintf("must have at most %d characters, because it is a label of the objects", validation.LabelValueMaxLength)})
	default:
		refuse("metadata.name", validation.IsDNS1123Subdomain(g.Name))
	}
	refuse("metadata.namespace", validation.IsDNS1123Label(g.Namespace))
	return ps
}

// placed returns a problem of a graph with its position in the document. Examples
// of the paths that it looks up are spec.graph.outputs, spec.adopt and
// spec.graph.nodes[2].resource.
func placed(doc yamlfile.Document, g *v1alpha1.ResourceGraph, p graph.Problem) problem.Problem {
	// Fields are relative to spec.graph, or to a node if the problem names one.
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

// GraphProblems returns the problems of a graph at the position of its document.
// instance is the name of the instance that was rendered, or "".
func GraphProblems(found []graph.Problem, at problem.Position, instance string) problem.List {
	var ps problem.List
	for _, p := range found {
		q := p.At(at)
		q.Instance = instance
		ps = append(ps, q)
	}
	return ps
}
