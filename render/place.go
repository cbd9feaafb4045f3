package render

import (
	"strconv"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Place settles where an instance and its graph live: a namespaced instance in
// its own namespace, else in the given one, and its graph beside it; a
// cluster-scoped instance has no namespace and names its graph's.
func (in *Instance) Place(p *Platform, namespace string) Problems {
	var ps Problems
	refuse := func(path, rule, message string) {
		ps = append(ps, Problem{Pos: in.PosOf(path), Path: path, Rule: rule, Message: message, Instance: in.String()})
	}
	if p.Scope == v1alpha1.ScopeCluster {
		if in.Namespace != "" {
			refuse("metadata.namespace", RuleInstance, in.Kind+" is cluster-scoped and has no namespace")
		}
		if in.graphNamespace == "" {
			refuse("graphNamespace", RuleRequired, "missing: "+in.Kind+" is cluster-scoped, its graph is not")
		}
		return ps
	}
	if in.graphNamespace != "" {
		refuse("graphNamespace", RuleInstance, "only cluster-scoped kinds choose it; the graph lies in the instance's namespace")
	}
	if in.Namespace == "" {
		in.Namespace = namespace
	}
	in.graphNamespace = in.Namespace
	return ps
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
func placeIn(e ast.Expr, parts []string) Pos {
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
