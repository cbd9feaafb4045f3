package render

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Place settles where an instance and its graph live: a namespaced instance in
// its own namespace, else in the given one, and its graph beside it; a
// cluster-scoped instance has no namespace and names its graph's.
func (in *Instance) Place(p *Platform, namespace string) problem.List {
	var ps problem.List
	refuse := func(path, rule, message string) {
		ps = append(ps, problem.Problem{Position: in.PosOf(path), Path: path, Rule: rule, Message: message, Instance: in.String()})
	}
	if p.Scope == v1alpha1.ScopeCluster {
		if in.Namespace != "" {
			refuse("metadata.namespace", problem.RuleInstance, in.Kind+" is cluster-scoped and has no namespace")
		}
		if in.graphNamespace == "" {
			refuse("graphNamespace", problem.RuleRequired, "missing: "+in.Kind+" is cluster-scoped, its graph is not")
		}
		return ps
	}
	if in.graphNamespace != "" {
		refuse("graphNamespace", problem.RuleInstance, "only cluster-scoped kinds choose it; the graph lies in the instance's namespace")
	}
	if in.Namespace == "" {
		in.Namespace = namespace
	}
	in.graphNamespace = in.Namespace
	return ps
}

// GraphOf gives the namespace and the name of the instance's graph without asking
// its platform; namespace is for instances that name none. An instance with a
// graphNamespace is taken for one of a cluster-scoped kind.
func (in *Instance) GraphOf(namespace string) (graphNamespace, name string) {
	if in.graphNamespace != "" {
		return in.graphNamespace, v1alpha1.GraphName(in.Group(), in.Kind, in.Namespace, in.Name)
	}
	if in.Namespace != "" {
		namespace = in.Namespace
	}
	return namespace, v1alpha1.GraphName(in.Group(), in.Kind, namespace, in.Name)
}

// pathOf is the path of an error as the instance's author knows it.
func (d *diagnosis) pathOf(err cueerrors.Error) string {
	parts := err.Path()
	if len(parts) > 0 && parts[0] == inputSel.String() {
		parts = parts[1:]
	}
	var path string
	var e ast.Expr = d.data
	for _, part := range parts {
		if l, ok := e.(*ast.ListLit); ok && fieldpath.IsIndex(part) {
			path += "[" + part + "]"
			e = cuesyntax.Item(l, part)
			continue
		}
		part = cuesyntax.UnquoteLabel(part)
		path = fieldpath.Join(path, part)
		s, _ := e.(*ast.StructLit)
		if e = nil; cuesyntax.Field(s, part) != nil {
			e = cuesyntax.Field(s, part).Value
		}
	}
	return path
}

// ruleOf is where the broken rule stands: the first position outside the
// instance, else where the schema stands.
func (d *diagnosis) ruleOf(e cueerrors.Error, schema cue.Value) problem.Position {
	for _, p := range cueerrors.Positions(e) {
		if at := d.outside(p); at.File != "" {
			return at
		}
	}
	return d.rulePos(schema)
}

// rulePos is where a schema stands.
func (d *diagnosis) rulePos(schema cue.Value) problem.Position {
	if at := d.outside(schema.Pos()); at.File != "" || !schema.Exists() {
		return at
	}
	if op, args := schema.Expr(); op == cue.AndOp {
		for _, a := range args {
			if at := d.rulePos(a); at.File != "" {
				return at
			}
		}
	}
	return problem.Position{}
}

// outside keeps positions in the instance itself from being shown as rules.
func (d *diagnosis) outside(p token.Pos) problem.Position {
	at := cuesyntax.Position(p)
	if at.File == d.data.Lbrace.Position().Filename {
		return problem.Position{}
	}
	return at
}
