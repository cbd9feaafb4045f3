package crdgen

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
)

// frame is a struct that is being read. What its fields demand of each other
// waits there until all of them are known.
type frame struct {
	// literals are the struct's own, which references name as their scope.
	literals []ast.Node
	// depth is how many steps led to the struct.
	depth   int
	pending []pending
	object  *object
	// allowed are the conditions under which fields may be there.
	allowed map[string][]allowed
	// shared are the fields that others are equal to. A default in the schema would be taken for the instance's word,
	// and the others couldn't differ from it any more.
	shared []shared
	// condition is what comprehensions may add to the struct.
	condition *condition
}

// step leads from a struct to a field of it, or over a barrier: to what isn't
// there exactly once, such as an item of a tuple or a member of a union.
type step struct {
	field   string
	barrier bool
	// each is eachItem or eachValue where the step leads to all of a list's
	// items or of a map's values.
	each string
}

// Segments of a path that are no names.
const (
	eachItem  = "\x00[]"
	eachValue = "\x00*"
)

// name is the step as a segment of a path. It reports false for a barrier.
func (s step) name() (string, bool) {
	if s.each != "" {
		return s.each, true
	}
	return s.field, !s.barrier
}

// pending is an expression to be translated into a rule of the frame where it
// waits.
type pending struct {
	// target is the value that the expression constrains, from the frame.
	target []string
	expr   ast.Expr
	// comprehension is set instead of expr.
	comprehension *ast.Comprehension
	// frames are those that references may name.
	frames []*frame
	steps  []step
	// notes say what is left to rendering without the rule.
	notes []Note
	// blurred is what it was for the reader.
	blurred bool
}

// push opens a frame.
func (r *reader) push(literals []ast.Node, c *condition) {
	f := &frame{literals: literals, condition: c, depth: len(r.steps), allowed: map[string][]allowed{}}
	r.frames = append(r.frames, f)
}

// pop closes the innermost frame, whose fields are now known, and gives it the
// rules that waited.
func (r *reader) pop(o *object, c *condition) {
	f := r.frames[len(r.frames)-1]
	f.object = o
	for _, s := range f.shared {
		o.forget(s)
	}
	for _, p := range f.pending {
		r.resolve(f, p)
	}
	for _, g := range o.fields {
		if g.unless != nil {
			f.give(r, o, c, g)
		}
	}
	f.allow(o, c)
	r.frames = r.frames[:len(r.frames)-1]
}

// in reads under one more step.
func (r *reader) in(s step, read func()) {
	before := r.steps
	r.steps = append(slices.Clone(r.steps), s)
	read()
	r.steps = before
}

// capture reads without notes and returns those that there would have been.
func (r *reader) capture(read func()) []Note {
	before := r.captured
	var notes []Note
	r.captured = &notes
	read()
	r.captured = before
	return notes
}

// put adds a note, or keeps it for who captures them.
func (r *reader) put(notes ...Note) {
	for _, n := range notes {
		if r.captured != nil {
			*r.captured = append(*r.captured, n)
			continue
		}
		r.notes.put(n)
	}
}

// wait keeps p until the outermost struct that e names is read. It reports
// false where no struct holds all that e is about: where it names a struct beyond
// a barrier.
func (r *reader) wait(p pending, e ast.Node) bool {
	if len(r.frames) == 0 {
		return false
	}
	outermost := len(r.frames) - 1
	ok := true
	r.scopes(e, map[ast.Node]bool{}, func(scope ast.Node) {
		i := r.frameOf(scope)
		ok = ok && i >= 0
		outermost = min(outermost, i)
	})
	if !ok {
		return false
	}
	f := r.frames[outermost]
	for _, s := range r.steps[f.depth:] {
		name, ok := s.name()
		if !ok {
			return false
		}
		p.target = append(p.target, name)
	}
	p.frames, p.steps, p.blurred = slices.Clone(r.frames), slices.Clone(r.steps), r.blurred
	f.pending = append(f.pending, p)
	return true
}

// frameOf is the innermost frame that scope is a literal of, or -1.
func (r *reader) frameOf(scope ast.Node) int {
	for i := len(r.frames) - 1; i >= 0; i-- {
		if slices.Contains(r.frames[i].literals, scope) {
			return i
		}
	}
	return -1
}

// scopes visits the scopes of the fields of the instance that e names.
func (r *reader) scopes(e ast.Node, seen map[ast.Node]bool, visit func(ast.Node)) {
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SelectorExpr:
			r.scopes(x.X, seen, visit)
			return false
		case *ast.Ident:
			if x.Node == nil || seen[x.Node] || !(references{fieldsOf: true, bounds: true, seen: map[ast.Node]bool{}}).ident(x) {
				return true
			}
			seen[x.Node] = true
			if let, ok := x.Node.(*ast.LetClause); ok {
				r.scopes(let.Expr, seen, visit)
				return true
			}
			visit(x.Scope)
		}
		return true
	}, nil)
}

// build compiles an expression that names no field of the instance. It reports
// false for what can't be compiled outside of its place.
func (r *reader) build(e ast.Expr) (v cue.Value, ok bool) {
	ok = true
	ast.Walk(e, func(n ast.Node) bool {
		if id, isIdent := n.(*ast.Ident); isIdent && id.Node != nil {
			switch id.Scope.(type) {
			case nil, *ast.File:
				// A field of #Input with this name would come first.
				ok = ok && !r.input.LookupPath(cue.MakePath(selectorOf(id.Name))).Exists() &&
					!r.input.LookupPath(cue.MakePath(selectorOf(id.Name).Optional())).Exists()
			case *ast.StructLit:
				ok = ok && contains(e, id.Node)
			default:
				ok = false
			}
		}
		return ok
	}, nil)
	if !ok {
		return cue.Value{}, false
	}
	defer func() {
		// CUE v0.17 may panic over a disjunction that fails.
		if recover() != nil {
			v, ok = cue.Value{}, false
		}
	}()
	//lint:ignore SA1019 a scope is of use in its own context only
	v = r.input.Context().BuildExpr(unresolved(e).(ast.Expr), cue.Scope(r.input), cue.InferBuiltins(true))
	return v, v.Exists()
}

func selectorOf(name string) cue.Selector {
	switch {
	case len(name) > 0 && name[0] == '#':
		return cue.Def(name)
	case len(name) > 0 && name[0] == '_':
		return cue.Hid(name, "_")
	}
	return cue.Str(name)
}
