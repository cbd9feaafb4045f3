package render

import (
	"slices"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// Options steer what a rendering allows.
type Options struct {
	// AllowSecrets lets Secrets carry literal data.
	AllowSecrets bool
	// Policies are organisation-wide policies, seen by every instance.
	Policies []*Policy
	// Check looks at every node of a graph that is right in itself; the object
	// is its resource, decoded, or nil. The paths of what it finds begin at the
	// node, and places are found for them. It may be nil, and is called by
	// several goroutines at once.
	Check func(n v1alpha1.Node, object map[string]any) problem.List
}

// Result is what became of one instance. Graph is nil where Problems has an Error.
type Result struct {
	Instance *Instance
	Platform *Platform
	Graph    *v1alpha1.ResourceGraph
	Problems problem.List
}

// Renderer renders instances one after the other. It keeps evaluated modules,
// so it is not for concurrent use; the zero value is ready.
type Renderer struct {
	Options
	built map[*Module]*built
}

// A context remembers every field name that it saw, so it is used for so many
// instances and then thrown away.
const usesOfContext = 100

func (r *Renderer) module(m *Module) *built {
	b := r.built[m]
	if b == nil || b.uses >= usesOfContext {
		if r.built == nil {
			r.built = map[*Module]*built{}
		}
		b = m.take()
		r.built[m] = b
	}
	b.uses++
	return b
}

// Render checks an instance and renders it. The instance's namespace must be
// settled before (see [Instance.Place]).
func (r *Renderer) Render(in *Instance, p *Platform) Result {
	res := Result{Instance: in, Platform: p}
	b := r.module(p.Module)
	v, problems := b.input(in.data(p), p, in.Version())
	res.Problems = append(res.Problems, in.known(problems)...)
	if !res.Problems.Failed() && in.Name != "" {
		g, problems := r.graph(v, in, p)
		res.Problems = append(res.Problems, problems...)
		if !res.Problems.Failed() {
			res.Graph = g
		}
	}
	for i := range res.Problems {
		q := &res.Problems[i]
		q.Instance = in.String()
		if q.Position.File == "" {
			q.Position = in.Pos()
		} else if q.Position.File != in.File {
			q.InstanceAt = in.Pos()
		}
	}
	res.Problems = res.Problems.Sorted()
	return res
}

// known leaves out what is wrong with a name that isn't there.
func (in *Instance) known(ps problem.List) problem.List {
	return slices.DeleteFunc(ps, func(p problem.Problem) bool { return in.Name == "" && p.Path == "metadata.name" })
}

// data is what the module sees of an instance: metadata and spec, nothing else.
func (in *Instance) data(p *Platform) *ast.StructLit {
	at := in.doc.Lbrace
	meta := &ast.StructLit{Lbrace: at}
	var from *ast.StructLit
	metaPos := at
	if f := cuesyntax.Field(in.doc, "metadata"); f != nil {
		from, _ = f.Value.(*ast.StructLit)
		metaPos = f.Label.Pos()
	}
	add := func(name string, value ast.Expr) {
		meta.Elts = append(meta.Elts, &ast.Field{Label: cuesyntax.Label(name, value.Pos()), Value: value})
	}
	if p.allowAnnotations && in.annotations != nil {
		add("annotations", in.annotations)
	}
	if p.allowLabels && in.labels != nil {
		add("labels", in.labels)
	}
	for _, name := range []string{"name", "namespace"} {
		if f := cuesyntax.Field(from, name); f != nil {
			add(name, f.Value)
			continue
		}
		add(name, cuesyntax.String(map[string]string{"name": "name", "namespace": in.Namespace}[name], metaPos))
	}
	specPos := at
	if f := cuesyntax.Field(in.doc, "spec"); f != nil {
		specPos = f.Label.Pos()
	}
	return &ast.StructLit{Lbrace: at, Elts: []ast.Decl{
		&ast.Field{Label: cuesyntax.Label("metadata", metaPos), Value: meta},
		&ast.Field{Label: cuesyntax.Label("spec", specPos), Value: in.spec},
	}}
}
