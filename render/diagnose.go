package render

import (
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// diagnose says what is wrong with an instance: every mistake once, at the
// instance's own line. CUE's errors alone don't do that, since a conflict
// hides missing and unknown fields beside it and a failed disjunction names
// every branch; so data and schema are walked together, each value judged
// among those of its siblings that are right. Where the walk finds nothing, or
// doesn't come to an end, CUE's own errors are given.
//
// Each of evals gives what the module makes of an input; the first that finds
// something wrong has found it.
func (b *built) diagnose(data *ast.StructLit, err error, evals ...evalFunc) problem.List {
	for _, eval := range evals {
		d := &diagnosis{built: b, data: data, eval: eval}
		if !d.walk() {
			break
		}
		if len(d.problems) == 0 {
			d.problems = d.doubts
		}
		if len(d.problems) > 0 {
			return d.problems.Sorted()
		}
	}
	d := &diagnosis{built: b, data: data}
	d.inCUEsWords(cueerror.List(err))
	return d.problems.Sorted()
}

// inCUEsWords reports CUE's own errors, one for each value, and one for a union
// however much is wrong in its branches.
func (d *diagnosis) inCUEsWords(errs []cueerrors.Error) {
	key := func(path []string) string { return strings.Join(path, "\x00") }
	unions := map[string]bool{}
	for _, e := range errs {
		if format, _ := e.Msg(); strings.Contains(format, "empty disjunction") {
			unions[key(e.Path())] = true
		}
	}
	byPath := map[string][]cueerrors.Error{}
	for _, e := range errs {
		inUnion := false
		for i := range e.Path() {
			inUnion = inUnion || unions[key(e.Path()[:i])]
		}
		if !inUnion {
			byPath[d.pathOf(e)] = append(byPath[d.pathOf(e)], e)
		}
	}
	for path, errs := range byPath {
		d.problems = append(d.problems, d.told(cueerror.Causes(errs)[0], path, cuesyntax.ValueAt(d.data, fieldpath.Split(path)), cue.Value{}))
	}
}

// diagnosis is one walk over an instance.
type diagnosis struct {
	built    *built
	data     *ast.StructLit
	eval     evalFunc
	problems problem.List
	// doubts are values that aren't complete though nothing of them is missing:
	// they matter only where nothing else is wrong.
	doubts     problem.List
	conditions map[string][]condition
	// base and spent count what evaluations cost.
	base, spent int
}

// walk says whether it came to an end. CUE itself may panic on values that are
// wrong in ways that it didn't expect; its context is not used again then.
func (d *diagnosis) walk() (ended bool) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil:
		case overspent:
		default:
			d.built.uses = usesOfContext
		}
	}()
	d.run()
	return true
}

func (d *diagnosis) run() {
	d.value(place{wrap: func(e ast.Expr) *ast.StructLit {
		if s, ok := e.(*ast.StructLit); ok {
			return s
		}
		return &ast.StructLit{}
	}}, d.data)
}

// value reports what is wrong with one value.
func (d *diagnosis) value(p place, e ast.Expr) { d.wrong(p, cue.Value{}, e) }

// wrong is like value, for a value whose schema may be known already.
func (d *diagnosis) wrong(p place, schema cue.Value, e ast.Expr) {
	if !schema.Exists() {
		schema = d.at(p, cuesyntax.Any())
	}
	if !schema.Exists() {
		return // in a union whose branch isn't known
	}
	if kinds := kindsOf(schema); kinds != cue.BottomKind && kinds&kindOf(e) == 0 {
		d.mistyped(schema, kinds, e, p.path)
		return
	}
	if _, ok := e.(*ast.BasicLit); ok && kindsOf(schema) != cue.BottomKind {
		d.scalar(schema, e, p.path)
		return
	}
	before := len(d.problems)
	v := d.at(p, e)
	switch x := e.(type) {
	case *ast.StructLit:
		d.structure(p, v, x)
	case *ast.ListLit:
		d.items(p, schema, v, x)
	}
	if len(d.problems) == before {
		d.constraint(v, e, p.path, schema)
	}
}

// constraint reports the first error of a value as a whole.
func (d *diagnosis) constraint(v cue.Value, e ast.Expr, path string, schema cue.Value) {
	errs := cueerror.Causes(cueerror.List(v.Validate(cue.Concrete(true), cue.All())))
	switch {
	case len(errs) == 0:
	case sound(v) && !definite(errs[0]):
		// Not wrong: something is missing elsewhere that it depends on.
		d.doubts = append(d.doubts, d.told(errs[0], path, e, schema))
	default:
		d.problems = append(d.problems, d.told(errs[0], path, e, schema))
	}
}

// definite says of an error that could still go away, to CUE, that it can't: a
// document doesn't grow.
func definite(e cueerrors.Error) bool {
	format, _ := e.Msg()
	return strings.HasPrefix(format, "invalid value")
}

func (d *diagnosis) add(path, rule string, rulePos problem.Position, message, hint string) {
	d.problems = append(d.problems, problem.Problem{
		Position: cuesyntax.PositionAt(d.data, fieldpath.Split(path)), Path: path, Rule: rule,
		Message: message, Hint: hint, Related: rulePos,
	})
}

// told is an error of CUE about the value at a path, or somewhere in it.
func (d *diagnosis) told(e cueerrors.Error, path string, value ast.Expr, schema cue.Value) problem.Problem {
	if at := d.pathOf(e); len(at) > len(path) && at[:len(path)] == path {
		path = at
	}
	p := problem.Problem{Position: cuesyntax.PositionAt(d.data, fieldpath.Split(path)), Path: path, Rule: problem.RuleConstraint, Related: d.ruleOf(e, schema)}
	p.Message, p.Rule = message(e, value)
	if l, ok := value.(*ast.ListLit); ok && p.Message == notUnique {
		if i := repeated(l); i > 0 {
			p.Path += fieldpath.Index(i)
			p.Position = cuesyntax.PositionAt(d.data, fieldpath.Split(p.Path))
			p.Message = show(l.Elts[i]) + " is in the list already"
		}
	}
	return p
}
