package render

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/api/nearest"
)

// diagnose says what is wrong with an instance: every mistake once, at the
// instance's own line. CUE's errors alone don't do that, since a conflict
// hides missing and unknown fields beside it and a failed disjunction names
// every branch; so data and schema are walked together, each value judged
// among those of its siblings that are right.
func (b *built) diagnose(data *ast.StructLit, err error) Problems {
	d := &diagnosis{ctx: b.ctx, root: data}
	f := frame{
		eval: func(e ast.Expr) cue.Value {
			s, ok := e.(*ast.StructLit)
			if !ok {
				s = data
			}
			return b.eval(s).LookupPath(cue.MakePath(inputSel))
		},
		wrap: func(e ast.Expr) ast.Expr { return e },
		skip: 1,
	}
	d.value(f, f.at(&ast.StructLit{}), data, "")
	if len(d.problems) == 0 {
		for _, e := range leastNoisy(cueErrors(err)) {
			d.add(f.errPath(e), RuleConstraint, d.ruleOf(e), message(e), "")
		}
	}
	return d.problems.sorted()
}

type diagnosis struct {
	ctx      *cue.Context
	root     *ast.StructLit
	problems Problems
}

// frame is a place in the data: how to judge another value there. Everything is
// evaluated anew from the top, with only what is right around the place.
type frame struct {
	eval func(ast.Expr) cue.Value
	wrap func(ast.Expr) ast.Expr
	sels []cue.Selector
	// base is the path of what eval evaluates; skip is how many parts of CUE's
	// own paths name it.
	base string
	skip int
}

// at gives the schema at the place unified with a value.
func (f frame) at(e ast.Expr) cue.Value {
	return f.eval(f.wrap(e)).LookupPath(cue.MakePath(f.sels...))
}

// in is the place of a field beside siblings that are right.
func (f frame) in(siblings []*ast.Field, name string) frame {
	up := f.wrap
	rest := slices.DeleteFunc(slices.Clone(siblings), func(s *ast.Field) bool { return labelName(s.Label) == name })
	f.wrap = func(e ast.Expr) ast.Expr {
		return up(structOf(append(slices.Clone(rest), &ast.Field{Label: label(name, e.Pos()), Value: e})))
	}
	f.sels = append(slices.Clone(f.sels), cue.Str(name))
	return f
}

// item is the place of a list's item.
func (f frame) item(l *ast.ListLit, i int) frame {
	up := f.wrap
	f.wrap = func(e ast.Expr) ast.Expr {
		list := &ast.ListLit{Elts: slices.Clone(l.Elts)}
		for j := range list.Elts {
			list.Elts[j] = ast.NewIdent("_")
		}
		list.Elts[i] = e
		return up(list)
	}
	f.sels = append(slices.Clone(f.sels), cue.Index(i))
	return f
}

// errPath is the path of an error as the instance's author knows it.
func (f frame) errPath(e cueerrors.Error) string {
	p := e.Path()
	p = p[min(f.skip, len(p)):]
	path := f.base
	for _, part := range splitPath(shownPath(p)) {
		if isIndex(part) {
			path += "[" + part + "]"
		} else {
			path = joinPath(path, part)
		}
	}
	return path
}

func (d *diagnosis) add(path, rule string, rulePos token.Pos, message, hint string) {
	d.problems = append(d.problems, Problem{
		Pos: placeIn(d.root, splitPath(path)), Path: path, Rule: rule,
		Message: message, Hint: hint, RulePos: d.rulePos(rulePos),
	})
}

// rulePos keeps positions in the instance itself from being shown as rules.
func (d *diagnosis) rulePos(p token.Pos) Pos {
	at := posOf(p)
	if at.File == d.root.Lbrace.Position().Filename {
		return Pos{}
	}
	return at
}

func holds(v cue.Value) bool { return v.Validate(cue.Concrete(true), cue.All()) == nil }

// value reports what is wrong with one value.
func (d *diagnosis) value(f frame, schema cue.Value, e ast.Expr, path string) {
	v := f.at(e)
	if v.Exists() && holds(v) {
		return
	}
	if branches := disjuncts(schema); len(branches) > 1 {
		d.disjunction(schema, branches, e, path)
		return
	}
	kind, given := schema.IncompleteKind(), kindOf(e)
	if kind != cue.BottomKind && kind&given == 0 {
		d.mistyped(kind, schema, e, path)
		return
	}
	before := len(d.problems)
	switch x := e.(type) {
	case *ast.StructLit:
		d.fields(f, x, path)
	case *ast.ListLit:
		d.items(f, schema, x, path)
	default:
		for _, part := range conjuncts(schema) {
			if d.value(d.alone(part, path), part, e, path); len(d.problems) > before {
				return
			}
		}
	}
	if len(d.problems) == before {
		d.constraint(f, e, path)
	}
}

// alone is the frame of a schema that is judged by itself, such as the branch of
// a disjunction.
func (d *diagnosis) alone(schema cue.Value, path string) frame {
	return frame{
		eval: func(e ast.Expr) cue.Value { return schema.Unify(d.ctx.BuildExpr(e)) },
		wrap: func(e ast.Expr) ast.Expr { return e },
		base: path,
		skip: len(schema.Path().Selectors()),
	}
}

// constraint reports the first error of a value as a whole, in CUE's own terms.
func (d *diagnosis) constraint(f frame, e ast.Expr, path string) {
	err := f.at(e).Validate(cue.Concrete(true), cue.All())
	for _, e := range leastNoisy(cueErrors(err)) {
		at := path
		if sub := f.errPath(e); strings.HasPrefix(sub, path) {
			at = sub
		}
		d.add(at, RuleConstraint, d.ruleOf(e), message(e), "")
		return
	}
}

// fields reports unknown, missing and wrong fields of a struct.
func (d *diagnosis) fields(f frame, s *ast.StructLit, path string) {
	empty := f.at(&ast.StructLit{})
	var given, right, wrong, unknown []*ast.Field
	for _, decl := range s.Elts {
		field := decl.(*ast.Field)
		name := labelName(field.Label)
		given = append(given, field)
		switch {
		case !empty.Allows(cue.Str(name)):
			unknown = append(unknown, field)
		// What is missing inside a field is not the field's fault.
		case f.in(nil, name).at(field.Value).Validate() == nil:
			right = append(right, field)
		default:
			wrong = append(wrong, field)
		}
	}
	// Fields that are right alone may be wrong together: the one is blamed at
	// which CUE sees the conflict.
	context := f.at(structOf(right))
	if context.Validate() != nil {
		right = slices.DeleteFunc(right, func(field *ast.Field) bool {
			if context.LookupPath(cue.MakePath(cue.Str(labelName(field.Label)))).Validate() == nil {
				return false
			}
			wrong = append(wrong, field)
			return true
		})
		context = f.at(structOf(right))
	}
	known := append(fieldNames(empty), fieldNames(context)...)
	var typos []string
	for _, field := range unknown {
		name := labelName(field.Label)
		// Fields that a condition makes are known among the others only.
		if context.Allows(cue.Str(name)) {
			wrong = append(wrong, field)
			continue
		}
		free := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return hasField(given, k) })
		meant := nearest.Name(name, free)
		if meant != "" {
			typos = append(typos, meant)
		}
		d.add(joinPath(path, name), RuleUnknown, token.NoPos, "unknown field", unknownHint(meant, known))
		d.problems[len(d.problems)-1].Pos = posOf(field.Label.Pos())
	}
	for _, field := range wrong {
		name := labelName(field.Label)
		d.value(f.in(right, name), fieldSchema(context, name), field.Value, joinPath(path, name))
	}
	for _, field := range right {
		name := labelName(field.Label)
		if holds(context.LookupPath(cue.MakePath(cue.Str(name)))) {
			continue
		}
		// Something is missing inside.
		others := slices.DeleteFunc(slices.Clone(right), func(o *ast.Field) bool { return o == field })
		d.value(f.in(right, name), fieldSchema(f.at(structOf(others)), name), field.Value, joinPath(path, name))
	}
	d.missing(context, given, typos, path)
}

// missing reports fields that the schema wants and the instance lacks, unless a
// typo explains them.
func (d *diagnosis) missing(context cue.Value, given []*ast.Field, typos []string, path string) {
	it, err := context.Fields(cue.Optional(true))
	if err != nil {
		return
	}
	for it.Next() {
		name := it.Selector().Unquoted()
		v := it.Value()
		if hasField(given, name) || it.FieldType()&cue.OptionalConstraint != 0 || slices.Contains(typos, name) {
			continue
		}
		if it.FieldType()&cue.RequiredConstraint == 0 && v.Validate(cue.Concrete(true)) == nil {
			continue
		}
		hint := ""
		if wants := wanted(v); len(wants) > 0 {
			hint = "it needs " + strings.Join(wants, ", ")
		} else if values := literals(disjuncts(v)); len(values) > 1 {
			hint = "one of " + strings.Join(values, ", ")
		}
		d.add(joinPath(path, name), RuleRequired, v.Pos(), "missing", hint)
	}
}

// wanted names the fields that a struct can't do without.
func wanted(v cue.Value) []string {
	if v.IncompleteKind() != cue.StructKind {
		return nil
	}
	var names []string
	it, err := v.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		t := it.FieldType()
		if t&cue.RequiredConstraint != 0 || t&cue.OptionalConstraint == 0 && it.Value().Validate(cue.Concrete(true)) != nil {
			names = append(names, it.Selector().Unquoted())
		}
	}
	return names
}

// items reports what is wrong with the items of a list.
func (d *diagnosis) items(f frame, schema cue.Value, l *ast.ListLit, path string) {
	for i, e := range l.Elts {
		item := schema.LookupPath(cue.MakePath(cue.Index(i)))
		if !item.Exists() {
			item = schema.LookupPath(cue.MakePath(cue.AnyIndex))
		}
		if !item.Exists() {
			item = f.item(l, i).at(ast.NewIdent("_"))
		}
		if item.Exists() {
			d.value(f.item(l, i), item, e, path+indexPath(i))
		}
	}
}

// fieldSchema gives what a struct's schema says of a field, be it regular,
// optional or by pattern.
func fieldSchema(schema cue.Value, name string) cue.Value {
	for _, sel := range []cue.Selector{cue.Str(name), cue.Str(name).Optional(), cue.AnyString} {
		if v := schema.LookupPath(cue.MakePath(sel)); v.Exists() {
			return v
		}
	}
	return cue.Value{}
}

func structOf(fields []*ast.Field) *ast.StructLit {
	s := &ast.StructLit{}
	for _, f := range fields {
		s.Elts = append(s.Elts, f)
	}
	return s
}

func hasField(fields []*ast.Field, name string) bool {
	return slices.ContainsFunc(fields, func(f *ast.Field) bool { return labelName(f.Label) == name })
}

// fieldNames lists the fields that a schema names, optional ones too.
func fieldNames(schema cue.Value) []string {
	var names []string
	it, err := schema.Fields(cue.Optional(true))
	if err != nil {
		return nil
	}
	for it.Next() {
		names = append(names, it.Selector().Unquoted())
	}
	return names
}

func unknownHint(meant string, known []string) string {
	if meant != "" {
		return nearest.Hint(meant, []string{meant})
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) == 0 || len(known) > 12 {
		return ""
	}
	return "known: " + strings.Join(known, ", ")
}
