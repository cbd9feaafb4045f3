package crdgen

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// condition is what a struct may hold besides what its schema says without
// conditions: the bodies of comprehensions whose clauses depend on the input.
// What it names may be there or not, may be narrower, and may be supplied; it is
// never required and has no default. A nil condition adds nothing.
type condition struct {
	// fields are the expressions that may be added to a field.
	fields map[string][]ast.Expr
	// open says that any field may be added.
	open bool
	// deep says that anything may be added at any depth.
	deep bool
	// attributed is where a field has a @k8s attribute, if one has.
	attributed token.Pos
}

// opaque is a condition under which anything may be added anywhere.
func (c *condition) opaque() *condition {
	out := c.clone()
	out.open, out.deep = true, true
	return out
}

// clone is a copy of c to add to.
func (c *condition) clone() *condition {
	out := &condition{fields: map[string][]ast.Expr{}}
	if c == nil {
		return out
	}
	out.open, out.deep, out.attributed = c.open, c.deep, c.attributed
	for name, exprs := range c.fields {
		out.fields[name] = slices.Clone(exprs)
	}
	return out
}

// loosens says whether what e adds to a field makes it admit more than its own
// schema: other fields, or anything in them.
func loosens(e ast.Expr) bool {
	own := (*condition)(nil).clone()
	own.add(e)
	return own.open || own.deep || len(own.fields) > 0
}

// names are the fields that c may add, sorted.
func (c *condition) names() []string {
	if c == nil {
		return nil
	}
	var out []string
	for name := range c.fields {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// touches says whether c may add anything to the field.
func (c *condition) touches(name string) bool {
	return c != nil && (c.deep || len(c.fields[name]) > 0)
}

// onlyBounds says whether c only narrows the field, so that it never supplies a
// value.
func (c *condition) onlyBounds(name string) bool {
	return c != nil && !c.deep && !slices.ContainsFunc(c.fields[name], func(e ast.Expr) bool { return !isBound(e) })
}

// field is what c may add inside of the field.
func (c *condition) field(name string) *condition {
	if c == nil {
		return nil
	}
	if c.deep {
		return c.opaque()
	}
	var out *condition
	for _, e := range c.fields[name] {
		if out == nil {
			out = out.clone()
		}
		out.add(e)
	}
	return out
}

// add adds the fields of e, or anything if e isn't a literal.
func (c *condition) add(e ast.Expr) {
	switch x := expression(e).(type) {
	case *ast.StructLit:
		for _, d := range x.Elts {
			c.addDecl(d)
		}
	case *ast.BinaryExpr:
		if x.Op == token.AND || x.Op == token.OR {
			c.add(x.X)
			c.add(x.Y)
			return
		}
		c.open, c.deep = true, true
	case *ast.UnaryExpr:
		if x.Op == token.MUL {
			c.add(x.X)
		}
	case *ast.BasicLit, *ast.BottomLit:
		// A scalar adds no fields.
	case *ast.Ident:
		if x.Node != nil || !slices.Contains(basicTypes(), x.Name) {
			c.open, c.deep = true, true
		}
	default:
		c.open, c.deep = true, true
	}
}

func (c *condition) addDecl(d ast.Decl) {
	switch x := d.(type) {
	case *ast.Field:
		if pos, ok := attributed(x); ok {
			c.attributed = pos
		}
		name, ok := staticName(x.Label)
		if !ok {
			c.open, c.deep = true, true
			return
		}
		c.fields[name] = append(c.fields[name], x.Value)
	case *ast.Comprehension:
		c.addComprehension(x)
	case *ast.EmbedDecl:
		if inner, ok := x.Expr.(*ast.Comprehension); ok {
			c.addComprehension(inner)
			return
		}
		c.open, c.deep = true, true
	case *ast.Ellipsis:
		c.open = true
	}
}

func (c *condition) addComprehension(x *ast.Comprehension) {
	c.add(x.Value)
	if x.Fallback != nil {
		c.add(x.Fallback.Body)
	}
}

// staticName is the name of a field whose label isn't computed. Labels of
// definitions and hidden fields have names, too, which no instance can use.
func staticName(l ast.Label) (string, bool) {
	if a, ok := l.(*ast.Alias); ok {
		inner, ok := a.Expr.(ast.Label)
		if !ok {
			return "", false
		}
		return staticName(inner)
	}
	switch l.(type) {
	case *ast.Ident, *ast.BasicLit:
		name, _, err := ast.LabelName(l)
		return name, err == nil
	}
	return "", false
}

// isConditional says whether n lies in a part of the source that holds only for
// some input.
func (r *reader) isConditional(n ast.Node) bool {
	if len(r.conditional) == 0 || isNil(n) {
		return false
	}
	return slices.ContainsFunc(r.conditional, func(s span) bool { return s.contains(n.Pos()) })
}

// sources is what a struct is made of.
type sources struct {
	literals []ast.Node
	// calls are the validators that all values must pass, memberCalls those in
	// members of disjunctions.
	calls, memberCalls []cue.Value
	condition          *condition
	notes              []conditionNote
	// ways is in how many ways the disjunctions can be resolved.
	ways int
	// counting asks for how many of the ways are without a contradiction, which
	// takes a unification: CUE v0.17.1 overflows the stack over some bounds by
	// other fields.
	counting bool
}

// positions are where the literals declare their fields.
func (s *sources) positions() map[string]token.Pos {
	out := map[string]token.Pos{}
	for _, n := range s.literals {
		lit, ok := n.(*ast.StructLit)
		if !ok {
			continue
		}
		for _, d := range lit.Elts {
			f, ok := d.(*ast.Field)
			if !ok {
				continue
			}
			if name, ok := staticName(f.Label); ok && !out[name].IsValid() {
				out[name] = f.Pos()
			}
		}
	}
	return out
}

type conditionNote struct {
	pos  token.Pos
	what string
	// comprehension is what the note is about, where it is one.
	comprehension *ast.Comprehension
}

// sourcesOf collects what v is made of, through ands, ors and references.
func (r *reader) sourcesOf(v cue.Value, c *condition) *sources {
	s := &sources{condition: c}
	s.ways, _ = r.collect(v, v, s, false, 0)
	return s
}

// collect adds what v, a part of whole, is made of. It counts in how many ways
// the disjunctions between structs can be resolved, and in how many without
// contradicting the whole.
func (r *reader) collect(v, whole cue.Value, s *sources, member bool, depth int) (ways, alive int) {
	if depth > maxDepth {
		return 1, 1 // the reference cycle is CUE's to report
	}
	switch x := expression(v.Source()).(type) {
	case *ast.StructLit:
		r.scan(x, x.Elts, s)
	}
	if file, ok := v.Source().(*ast.File); ok {
		r.scan(file, file.Decls, s)
	}
	next := func(v cue.Value, member bool) (int, int) { return r.collect(v, whole, s, member, depth+1) }
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
		for _, a := range part.args {
			if !r.conjunctOf(a).isStruct() {
				continue
			}
			w, l := next(a, true)
			ways += w
			if s.counting && a.Unify(whole).IncompleteKind() != cue.BottomKind {
				alive += l
			}
		}
		return max(ways, 1), max(alive, 1)
	case cue.NoOp:
		if len(part.args) == 1 && part.args[0] != v {
			return next(part.args[0], member)
		}
	case cue.SpreadOp:
		return next(part.args[0], member)
	case cue.SelectorOp, cue.IndexOp:
		if d := cue.Dereference(v); d != v {
			return next(d, member)
		}
	case cue.CallOp:
		switch {
		case callee(part.args) == "close" && len(part.args) == 2:
			return next(part.args[1], member)
		case member:
			s.memberCalls = append(s.memberCalls, v)
		default:
			s.calls = append(s.calls, v)
		}
	}
	return 1, 1
}

// scan looks for declarations of a struct literal that hold only for some input.
func (r *reader) scan(lit ast.Node, decls []ast.Decl, s *sources) {
	if slices.Contains(s.literals, lit) {
		return
	}
	s.literals = append(s.literals, lit)
	for _, d := range decls {
		switch x := d.(type) {
		case *ast.Comprehension:
			r.scanComprehension(x, s)
		case *ast.EmbedDecl:
			switch e := x.Expr.(type) {
			case *ast.Comprehension:
				r.scanComprehension(e, s)
			case *ast.StructLit:
				r.scan(e, e.Elts, s)
			default:
				if dependsOnInput(e) {
					s.conditional(r, x, "the embedding of another field")
					s.condition = s.condition.opaque()
				}
			}
		case *ast.Field:
			if _, ok := staticName(x.Label); ok || !dependsOnInput(x.Label) {
				continue
			}
			s.conditional(r, x, "a field that is named after another")
			s.condition = s.condition.clone()
			s.condition.addDecl(x)
		}
	}
}

func (r *reader) scanComprehension(x *ast.Comprehension, s *sources) {
	for _, clause := range x.Clauses {
		if !dependsOnInput(clause) {
			continue
		}
		own := (*condition)(nil).clone()
		own.addComprehension(x)
		what := "what depends on other fields here"
		if names := own.names(); len(names) > 0 {
			what += " (" + strings.Join(names, ", ") + ")"
		}
		s.conditional(r, x, what)
		added := s.condition.clone()
		added.addComprehension(x)
		s.condition = added
		return
	}
	if body, ok := x.Value.(*ast.StructLit); ok {
		r.scan(body, body.Elts, s)
	}
}

// conditional marks n, so that what it says is left out.
func (s *sources) conditional(r *reader, n ast.Node, what string) {
	if sp := spanOf(n); !slices.Contains(r.conditional, sp) {
		r.conditional = append(r.conditional, sp)
	}
	note := conditionNote{pos: n.Pos(), what: what}
	note.comprehension, _ = n.(*ast.Comprehension)
	s.notes = append(s.notes, note)
}
