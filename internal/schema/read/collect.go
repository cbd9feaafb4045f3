package read

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// collect adds the source of v, a part of whole, to s. It returns the number of
// ways in which the disjunctions between structs can be resolved, and how many of
// them don't contradict whole. For ({a: 1} | {b: 2}) & ({c: 3} | {d: 4}) there
// are four ways.
func (r *reader) collect(in context, v, whole cue.Value, s *sources, member bool, depth int) (ways, alive int) {
	if depth > maxDepth {
		return 1, 1 // CUE reports the cycle of references
	}
	switch x := syntax.Expression(v.Source()).(type) {
	case *ast.StructLit:
		r.scan(in, x, x.Elts, s)
	}
	if file, ok := v.Source().(*ast.File); ok {
		r.scan(in, file, file.Decls, s)
	}
	next := func(v cue.Value, member bool) (int, int) { return r.collect(in, v, whole, s, member, depth+1) }
	part := r.conjunctOf(v)
	switch part.op {
	case cue.AndOp:
		ways, alive = 1, 1
		for _, a := range part.args {
			w, l := next(a, member)
			ways, alive = ways*w, alive*l
		}
		return ways, alive
	case cue.OrOp:
		s.compare(v, len(part.args))
		for _, a := range part.args {
			if !r.conjunctOf(a).isStruct() {
				continue
			}
			w, l := next(a, true)
			ways += w
			if s.counting && kindsOfValue(a.Unify(whole)) != shape.BottomKind {
				alive += l
			}
		}
		return max(ways, 1), max(alive, 1)
	// Evaluation has left one member of a disjunction.
	case cue.NoOp:
		if len(part.args) == 1 && part.args[0] != v {
			s.compare(v, 1)
			ways, alive = next(part.args[0], member)
			return max(ways, syntax.LiteralMembers(syntax.Expression(v.Source()))), alive
		}
	case cue.SpreadOp:
		return next(part.args[0], member)
	case cue.SelectorOp, cue.IndexOp:
		if d := cue.Dereference(v); d != v {
			return next(d, member)
		}
	// A call in the source of a struct is a validator such as
	// struct.MinFields(1).
	case cue.CallOp:
		switch {
		case callee(part.args) == "close" && len(part.args) == 2:
			return next(part.args[1], member)
		case !member:
			s.calls = append(s.calls, v)
		case kindsOfValue(v) != shape.BottomKind:
			s.conditions = append(s.conditions, condition{notes: in.noteOf(v.Pos(), "%s", sourceText(v))})
		}
	}
	return 1, 1
}

// compare records the source of v if it is a disjunction with more members than
// CUE evaluated. members is the number of members after evaluation.
func (s *sources) compare(v cue.Value, members int) {
	e := syntax.Expression(v.Source())
	if len(syntax.MembersOf(e)) > members && !slices.Contains(s.dropped, e) {
		s.dropped = append(s.dropped, e)
	}
}

// scan finds the declarations in a struct literal that hold only for some input.
// A literal is scanned once, however often it is referred to.
func (r *reader) scan(in context, lit ast.Node, decls []ast.Decl, s *sources) {
	if slices.Contains(s.literals, lit) {
		return
	}
	s.literals = append(s.literals, lit)
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Comprehension:
			r.scanComprehension(in, x, s)
		case *ast.EmbedDecl:
			switch e := x.Expr.(type) {
			case *ast.Comprehension:
				r.scanComprehension(in, e, s)
			case *ast.StructLit:
				r.scan(in, e, e.Elts, s)
			default:
				if r.parameters.DependsOnInput(e) {
					s.guard(in, x, "the embedding of another field")
					s.guarded = s.guarded.Opaque()
				}
			}
		// Only parameters, and fields with names that depend on data, matter here.
		case *ast.Field:
			if name, ok := syntax.StaticName(x.Label); ok {
				r.scanHidden(in, name, x, s)
				continue
			}
			if !r.parameters.DependsOnInput(x.Label) {
				continue
			}
			s.guard(in, x, "a field that is named after another")
			s.guarded = s.guarded.Clone()
			s.guarded.AddDecl(x)
		}
	}
}

// scanHidden records a definition or a hidden field whose value depends on input
// as a parameter. A schema has no place for it, so a value that may be an error is
// noted, such as {for i, x in ports {(x.name): i}}, which demands unique names.
func (r *reader) scanHidden(in context, name string, x *ast.Field, s *sources) {
	if !syntax.IsHidden(name) || !r.parameters.AnyDependsOnInput(x.Value) {
		return
	}
	r.parameters[name] = true
	s.parameters = append(s.parameters, name)
	if syntax.MayFail(x.Value) {
		s.conditions = append(s.conditions, condition{notes: in.noteOf(x.Pos(), "what %s demands of other fields", name)})
	}
}

// scanComprehension finds out whether the clauses of an if or a for depend on
// input. If they don't, the body is part of the literal. The names of the fields
// that the body declares make the note easier to find.
func (r *reader) scanComprehension(in context, x *ast.Comprehension, s *sources) {
	for _, clause := range x.Clauses {
		if !r.parameters.DependsOnInput(clause) {
			continue
		}
		own := (*syntax.Guarded)(nil).Clone()
		own.AddComprehension(x)
		for _, name := range own.Names() {
			if syntax.IsHidden(name) {
				r.parameters[name] = true
				s.parameters = append(s.parameters, name)
			}
		}
		what := "what depends on other fields here"
		if names := own.Names(); len(names) > 0 {
			what += " (" + strings.Join(names, ", ") + ")"
		}
		s.guard(in, x, what)
		added := s.guarded.Clone()
		added.AddComprehension(x)
		s.guarded = added
		s.other = s.other || r.embedsOther(x)
		return
	}
	if body, ok := x.Value.(*ast.StructLit); ok {
		r.scan(in, body, body.Elts, s)
	}
}

// embedsOther reports whether a comprehension embeds a value that may not be a
// struct, which the enclosing struct then isn't either. A literal such as {if x
// {3}} is an integer if x holds.
func (r *reader) embedsOther(x *ast.Comprehension) bool {
	bodies := []ast.Expr{x.Value}
	if x.Fallback != nil {
		bodies = append(bodies, x.Fallback.Body)
	}
	return slices.ContainsFunc(bodies, func(body ast.Expr) bool {
		lit, ok := body.(*ast.StructLit)
		return !ok || slices.ContainsFunc(lit.Elts, r.isOther)
	})
}

// turns reports whether a guard may make a struct literal something else than a
// struct. Only ifs and fors whose clauses depend on input count.
func (r *reader) turns(n ast.Node) bool {
	lit, ok := syntax.Expression(n).(*ast.StructLit)
	return ok && slices.ContainsFunc(lit.Elts, func(d ast.Decl) bool {
		x, ok := d.(*ast.Comprehension)
		if e, isEmbed := d.(*ast.EmbedDecl); isEmbed {
			x, ok = e.Expr.(*ast.Comprehension)
		}
		return ok && slices.ContainsFunc(x.Clauses, func(c ast.Clause) bool { return r.parameters.DependsOnInput(c) }) && r.embedsOther(x)
	})
}

// isOther reports whether a declaration embeds something else than a struct.
func (r *reader) isOther(d ast.Decl) bool {
	switch x := d.(type) {
	case *ast.Comprehension:
		return r.embedsOther(x)
	case *ast.EmbedDecl:
		switch e := x.Expr.(type) {
		case *ast.Comprehension:
			return r.embedsOther(e)
		case *ast.StructLit:
			return slices.ContainsFunc(e.Elts, r.isOther)
		default:
			return !syntax.IsBottom(e) && r.kindsAmong(e) != shape.StructKind
		}
	}
	return false
}
