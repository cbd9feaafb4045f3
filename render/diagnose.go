package render

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// diagnose says what is wrong with an instance: every mistake once, at the
// instance's own line. CUE's errors alone don't do that, since a conflict
// hides missing and unknown fields beside it and a failed disjunction names
// every branch; so data and schema are walked together, each value judged
// among those of its siblings that are right. Where the walk finds nothing, or
// doesn't come to an end, CUE's own errors are given.
func (b *built) diagnose(data *ast.StructLit, err error) Problems {
	// What #Render makes of the input is most of the work of an evaluation, and
	// hardly ever says anything about the input itself.
	for _, eval := range []func(*ast.StructLit) cue.Value{b.inputAlone, b.inputRendered} {
		d := &diagnosis{built: b, data: data, eval: eval}
		if !d.walk() {
			break
		}
		if len(d.problems) == 0 {
			d.problems = d.doubts
		}
		if len(d.problems) > 0 {
			return d.problems.sorted()
		}
	}
	d := &diagnosis{built: b, data: data}
	d.inCUEsWords(cueErrors(err))
	return d.problems.sorted()
}

// inCUEsWords reports CUE's own errors, one for each value.
func (d *diagnosis) inCUEsWords(errs []cueerrors.Error) {
	byPath := map[string][]cueerrors.Error{}
	for _, e := range errs {
		path := d.pathOf(e)
		byPath[path] = append(byPath[path], e)
	}
	for path, errs := range byPath {
		e := causes(errs)[0]
		if format, _ := e.Msg(); strings.Contains(format, "empty disjunction") && hasBelow(byPath, path) {
			continue
		}
		d.report(e, path, valueAt(d.data, splitPath(path)), cue.Value{})
	}
}

func hasBelow(byPath map[string][]cueerrors.Error, path string) bool {
	for p := range byPath {
		if len(p) > len(path) && strings.HasPrefix(p, path) {
			return true
		}
	}
	return false
}

func (b *built) inputAlone(data *ast.StructLit) cue.Value {
	expr := ast.NewBinExpr(token.AND, ast.NewSel(ast.NewIdent("#Render"), "input"), data)
	return b.ctx.BuildFile(&ast.File{Decls: []ast.Decl{&ast.EmbedDecl{Expr: expr}}}, cue.Scope(b.root))
}

func (b *built) inputRendered(data *ast.StructLit) cue.Value {
	return b.eval(data).LookupPath(cue.MakePath(inputSel))
}

// diagnosis is one walk over an instance.
type diagnosis struct {
	built    *built
	data     *ast.StructLit
	eval     func(*ast.StructLit) cue.Value
	problems Problems
	// doubts are values that aren't complete though nothing of them is missing:
	// they matter only where nothing else is wrong.
	doubts     Problems
	conditions map[string][]condition
	// base and spent count what evaluations cost.
	base, spent int
}

// A walk evaluates the instance, or parts of it, again and again. This many
// fields in all take about a second.
const maxSpent = 300_000

type overspent struct{}

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

// place is a place in the instance: how to put another value there, beside
// siblings that are right. Everything is evaluated anew from the top.
type place struct {
	wrap func(ast.Expr) *ast.StructLit
	sels []cue.Selector
	path string
}

// at gives the schema at a place unified with a value: an error where the place
// is in a union that takes no branch with that value, because then CUE gives
// the value as if there were no schema.
func (d *diagnosis) at(p place, e ast.Expr) cue.Value {
	whole := p.wrap(e)
	d.spent += d.weight() + sizeOf(whole)
	if d.spent > maxSpent {
		panic(overspent{})
	}
	v := d.eval(whole)
	for _, sel := range p.sels {
		if v.IncompleteKind() == cue.BottomKind && failedUnion(v) {
			return d.built.ctx.BuildExpr(&ast.BottomLit{})
		}
		v = v.LookupPath(cue.MakePath(sel))
	}
	return v
}

// failedUnion says whether an error is that of a disjunction itself, not of
// something in it, or stands for one (see at).
func failedUnion(v cue.Value) bool {
	depth := len(v.Path().Selectors())
	for _, e := range cueErrors(v.Err()) {
		format, _ := e.Msg()
		if (strings.Contains(format, "empty disjunction") || strings.HasPrefix(format, explicitError)) && len(e.Path()) <= depth {
			return true
		}
	}
	return false
}

// weight is the part of an evaluation's cost that the module makes.
func (d *diagnosis) weight() int {
	if d.base == 0 {
		d.base = 1
		if inst := d.built.root.BuildInstance(); inst != nil {
			for _, f := range inst.Files {
				d.base += sizeOf(f)
			}
		}
	}
	return d.base
}

// sizeOf counts the fields and items of syntax.
func sizeOf(n ast.Node) (size int) {
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Field:
			size++
		case *ast.ListLit:
			size += len(x.Elts)
		}
		return true
	}, nil)
	return size
}

// anything stands for a value that isn't given.
func anything() ast.Expr { return ast.NewIdent("_") }

// field is the place of a field beside its siblings.
func (p place) field(siblings []*ast.Field, name string) place {
	rest := slices.DeleteFunc(slices.Clone(siblings), func(s *ast.Field) bool { return labelName(s.Label) == name })
	return place{
		wrap: func(e ast.Expr) *ast.StructLit {
			return p.wrap(structOf(rest, &ast.Field{Label: label(name, token.NoPos), Value: e}))
		},
		sels: append(slices.Clone(p.sels), cue.Str(name)),
		path: joinPath(p.path, name),
	}
}

// item is the place of a list's item i among others.
func (p place) item(i int, before, after []ast.Expr) place {
	return place{
		wrap: func(e ast.Expr) *ast.StructLit {
			return p.wrap(ast.NewList(slices.Concat(before, []ast.Expr{e}, after)...))
		},
		sels: append(slices.Clone(p.sels), cue.Index(len(before))),
		path: p.path + indexPath(i),
	}
}

func structOf(fields []*ast.Field, more ...*ast.Field) *ast.StructLit {
	s := &ast.StructLit{}
	for _, f := range fields {
		s.Elts = append(s.Elts, f)
	}
	for _, f := range more {
		s.Elts = append(s.Elts, f)
	}
	return s
}

// complete says whether a value is all that its schema wants, sound whether it
// is right so far.
func complete(v cue.Value) bool { return v.Validate(cue.Concrete(true), cue.All()) == nil }
func sound(v cue.Value) bool    { return v.Validate() == nil }

// value reports what is wrong with one value.
func (d *diagnosis) value(p place, e ast.Expr) { d.against(p, d.at(p, anything()), e) }

// against reports what is wrong with one value, whose schema is known already.
func (d *diagnosis) against(p place, schema cue.Value, e ast.Expr) {
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
	errs := causes(cueErrors(v.Validate(cue.Concrete(true), cue.All())))
	switch {
	case len(errs) == 0:
	case sound(v) && !definite(errs[0]):
		// Not wrong: something is missing elsewhere that it depends on.
		d.doubts = append(d.doubts, d.told(errs[0], path, e, schema))
	default:
		d.report(errs[0], path, e, schema)
	}
}

// definite says of an error that could still go away, to CUE, that it can't: a
// document doesn't grow.
func definite(e cueerrors.Error) bool {
	format, _ := e.Msg()
	return strings.HasPrefix(format, "invalid value")
}

func (d *diagnosis) add(path, rule string, rulePos Pos, message, hint string) {
	d.problems = append(d.problems, Problem{
		Pos: placeIn(d.data, splitPath(path)), Path: path, Rule: rule,
		Message: message, Hint: hint, RulePos: rulePos,
	})
}

// report adds an error of CUE about the value at a path, or somewhere in it.
func (d *diagnosis) report(e cueerrors.Error, path string, value ast.Expr, schema cue.Value) {
	d.problems = append(d.problems, d.told(e, path, value, schema))
}

func (d *diagnosis) told(e cueerrors.Error, path string, value ast.Expr, schema cue.Value) Problem {
	if at := d.pathOf(e); len(at) > len(path) && at[:len(path)] == path {
		path = at
	}
	p := Problem{Pos: placeIn(d.data, splitPath(path)), Path: path, Rule: RuleConstraint, RulePos: d.ruleOf(e, schema)}
	p.Message, p.Rule = message(e, value)
	if l, ok := value.(*ast.ListLit); ok && p.Message == notUnique {
		if i := repeated(l); i > 0 {
			p.Path += indexPath(i)
			p.Pos = placeIn(d.data, splitPath(p.Path))
			p.Message = show(l.Elts[i]) + " is in the list already"
		}
	}
	return p
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
