package render

import (
	"strconv"

	"github.com/pequod-io/pequod/internal/problem"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/api/v1alpha1"
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

// valueAt gives the value at a path, or nil.
func valueAt(e ast.Expr, parts []string) ast.Expr {
	for _, part := range parts {
		switch x := e.(type) {
		case *ast.StructLit:
			f := field(x, part)
			if f == nil {
				return nil
			}
			e = f.Value
		case *ast.ListLit:
			e = itemOf(x, part)
		default:
			return nil
		}
	}
	return e
}

// placeIn gives the place of the value at a path, or of the label of the
// innermost struct on the way to it.
func placeIn(e ast.Expr, parts []string) problem.Position {
	at := e.Pos()
	for i, part := range parts {
		switch x := e.(type) {
		case *ast.StructLit:
			f := field(x, part)
			if f == nil {
				return posOf(at)
			}
			e, at = f.Value, f.Label.Pos()
		case *ast.ListLit:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(x.Elts) {
				return posOf(at)
			}
			e, at = x.Elts[n], x.Elts[n].Pos()
		default:
			return posOf(at)
		}
		if i == len(parts)-1 {
			return posOf(valuePos(e, at))
		}
	}
	return posOf(at)
}

// valuePos is where a value is shown to begin: a scalar where it stands, a
// struct or list at its label.
func valuePos(e ast.Expr, label token.Pos) token.Pos {
	if _, ok := e.(*ast.BasicLit); ok && e.Pos().IsValid() {
		return e.Pos()
	}
	return label
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
		if l, ok := e.(*ast.ListLit); ok && isIndex(part) {
			path += "[" + part + "]"
			e = itemOf(l, part)
			continue
		}
		part = unquoteLabel(part)
		path = joinPath(path, part)
		s, _ := e.(*ast.StructLit)
		if e = nil; field(s, part) != nil {
			e = field(s, part).Value
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
	at := posOf(p)
	if at.File == d.data.Lbrace.Position().Filename {
		return problem.Position{}
	}
	return at
}
