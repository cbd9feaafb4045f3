package read

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// CUE keeps a struct closed that is unified with an open one: #A & {...} has the
// fields of #A only. The evaluated struct looks open, so the reader remembers the
// closed conjuncts.

// closers returns the closed conjuncts of v together with those of in, which
// close v from outside.
func (r *reader) closers(in context, v cue.Value) []closer {
	out := slices.Clone(in.closers)
	c := r.conjunctOf(v)
	// What a struct literal embeds may be extended by the literal.
	if _, ok := syntax.Expression(v.Source()).(*ast.StructLit); ok || c.op != cue.AndOp {
		return out
	}
	for _, a := range c.args {
		if kindsOfValue(a)&(shape.StructKind|shape.ListKind) == shape.BottomKind {
			continue
		}
		switch e := syntax.Expression(a.Source()).(type) {
		case *ast.BinaryExpr:
			out = append(out, r.closers(context{}, a)...)
		case *ast.CallExpr:
			if name, _ := syntax.CalleeName(e); name == "close" {
				out = append(out, closer{a, false})
			}
		default:
			// A literal in a definition is closed only together with the others.
			if syntax.NamesDefinition(e) && a.IsClosedRecursively() && isSingle(a) {
				out = append(out, closer{a, true})
			}
		}
	}
	return out
}

// isSingle reports whether v is one struct or list, as opposed to a choice.
func isSingle(v cue.Value) bool {
	kinds := kindsOfValue(v)
	op, _ := v.Eval().Expr()
	return (kinds == shape.StructKind || kinds == shape.ListKind) && op != cue.OrOp
}

// isClosedChoice reports whether a conjunct of v is a choice between closed
// structs. Which of them closes a member of v is not known.
func (r *reader) isClosedChoice(v cue.Value) bool {
	c := r.conjunctOf(v)
	return c.op == cue.AndOp && slices.ContainsFunc(c.args, func(a cue.Value) bool {
		return syntax.NamesDefinition(syntax.Expression(a.Source())) && a.IsClosedRecursively() && kindsOfValue(a) == shape.StructKind && !isSingle(a)
	})
}

// excludes reports whether a closer excludes the field called name.
func (r *reader) excludes(closers []closer, name string, in context) bool {
	quiet, _ := in.capture()
	return slices.ContainsFunc(closers, func(c closer) bool {
		if c.admits(name) {
			return false
		}
		// An if may add the field.
		s := &sources{}
		r.collect(quiet, c.Value, c.Value, s, false, 0)
		return !s.guarded.Touches(name) && (s.guarded == nil || !s.guarded.Open) && len(s.declarations(name)) == 0
	})
}

// within returns the closers of the parts of a value that one of the selectors
// names.
func within(closers []closer, selectors ...cue.Selector) []closer {
	var out []closer
	for _, c := range closers {
		for _, s := range selectors {
			if part := c.LookupPath(cue.MakePath(s)); c.deep && part.Exists() && isSingle(part) {
				out = append(out, closer{part, true})
				break
			}
		}
	}
	return out
}

// admits reports whether c has the field called name. Patterns may admit it.
func (c closer) admits(name string) bool {
	for _, s := range []cue.Selector{cue.Str(name), cue.Str(name).Optional(), cue.Str(name).Required()} {
		if c.LookupPath(cue.MakePath(s)).Exists() {
			return true
		}
	}
	return c.isOpen()
}

// isOpen reports whether c may have fields that it doesn't list.
func (c closer) isOpen() bool {
	if !c.deep && c.Allows(cue.AnyString) || c.LookupPath(cue.MakePath(cue.AnyString)).Exists() {
		return true
	}
	it, err := c.Fields(cue.Optional(true), cue.Patterns(true))
	if err != nil {
		return true
	}
	for it.Next() {
		if it.FieldType()&cue.PatternConstraint != 0 {
			return true
		}
	}
	return false
}

// isDefinition reports whether v is a reference to a definition and nothing else. Such
// a value is closed wherever it stands.
func isDefinition(v cue.Value) bool {
	return syntax.NamesDefinition(syntax.Expression(v.Source())) && v.IsClosedRecursively()
}
