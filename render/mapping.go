package render

import (
	"slices"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// structure reports what is wrong with a mapping where the schema takes one; v is
// the mapping with its schema.
func (d *diagnosis) structure(p place, v cue.Value, s *ast.StructLit) {
	var b branch
	if failedUnion(v) || len(alternatives(v)) > 1 {
		b = d.choose(p, s)
		if b.unclear {
			return
		}
		v = d.at(p, cuesyntax.Struct(b.with, cuesyntax.Fields(s)...))
	}
	m := d.part(p, v, b.with, s)
	names := namesOf(m.empty, m.context, s)
	typos := typosOf(m.strange, cuesyntax.Fields(s), names)

	beside := slices.Concat(b.with, m.right)
	place := func(f *ast.Field) place { return p.field(beside, cuesyntax.LabelName(f.Label)) }
	dependsOn := func(f *ast.Field) []condition { return d.dependencies(cuesyntax.LabelName(f.Label), m.empty) }
	// Those that depend on others come last: what they depend on may be wrong.
	for _, f := range m.wrong {
		if len(dependsOn(f)) == 0 {
			d.wrong(place(f), child(m.context, f), f.Value)
		}
	}
	for _, f := range m.wrong {
		on, schema := dependsOn(f), child(m.context, f)
		if len(on) > 0 && (kindsOf(schema)&kindOf(f.Value) == 0 || !d.blames(on, typos)) {
			d.wrong(place(f), schema, f.Value)
		}
	}
	d.missing(p, m.context, s, typos)
	for _, f := range m.right {
		d.incomplete(place(f), child(m.context, f), f.Value)
	}
	if len(m.strange) > 0 {
		d.unknown(p, b, m.empty, m.strange, typos, names)
	}
}

// parted is the fields of a mapping: those that are right beside each other,
// those that aren't, and those that the schema doesn't have.
type parted struct {
	right, wrong, strange []*ast.Field
	// empty is the schema of the mapping; context is the value of the right
	// fields, with anything in place of the wrong ones.
	empty, context cue.Value
}

// part parts the fields of a mapping; v is what CUE makes of all of them, beside
// others that choose a branch.
func (d *diagnosis) part(p place, v cue.Value, with []*ast.Field, s *ast.StructLit) parted {
	all := cuesyntax.Fields(s)
	m := parted{empty: d.at(p, cuesyntax.Struct(with))}
	m.strange = filter(all, func(f *ast.Field) bool { return !allows(m.empty, f) })
	if len(m.strange) > 0 {
		v = d.at(p, cuesyntax.Struct(with, without(all, m.strange)...))
	}
	for {
		m.right, m.wrong, m.context = d.sift(p, v, with, without(all, m.strange))
		// Fields that a condition makes are known only beside what fulfils it.
		made := filter(m.strange, func(f *ast.Field) bool {
			return allows(m.context, f) && !notAllowed(child(d.at(p, cuesyntax.Struct(with, append(slices.Clone(m.right), f)...)), f))
		})
		if len(made) == 0 {
			break
		}
		m.strange = without(m.strange, made)
		v = d.at(p, cuesyntax.Struct(with, without(all, m.strange)...))
	}
	// Before a condition is decided, CUE takes any field.
	if slices.ContainsFunc(m.wrong, func(f *ast.Field) bool { return !sound(child(m.context, f)) }) {
		decided := d.at(p, cuesyntax.Struct(with, m.right...))
		late := filter(m.wrong, func(f *ast.Field) bool { return !sound(child(m.context, f)) && !allows(decided, f) })
		if len(late) > 0 {
			m.strange, m.wrong, m.context = append(m.strange, late...), without(m.wrong, late), decided
		}
	}
	return m
}

func allows(v cue.Value, f *ast.Field) bool { return v.Allows(cue.Str(cuesyntax.LabelName(f.Label))) }

// sift tells right fields from wrong ones; v is what CUE makes of all of them.
// Fields that are right alone may be wrong together: the one is wrong at which
// CUE sees the conflict.
func (d *diagnosis) sift(p place, v cue.Value, with, fields []*ast.Field) (right, wrong []*ast.Field, context cue.Value) {
	wrong = filter(fields, func(f *ast.Field) bool { return !sound(child(v, f)) })
	if failedUnion(v) {
		// CUE no longer says which field it was.
		wrong = filter(fields, func(f *ast.Field) bool { return !sound(d.at(p, cuesyntax.Struct(with, f))) })
	} else if len(wrong) == 0 {
		return fields, nil, v
	}
	right = without(fields, wrong)
	beside := func(right, wrong []*ast.Field) cue.Value {
		all := slices.Concat(with, right)
		for _, f := range wrong {
			all = append(all, &ast.Field{Label: f.Label, Value: cuesyntax.Any()})
		}
		return d.at(p, cuesyntax.Struct(all))
	}
	context = beside(right, wrong)
	// Some are right only as long as others are wrong.
	if more := filter(right, func(f *ast.Field) bool { return !sound(child(context, f)) }); len(more) > 0 {
		wrong, right = append(wrong, more...), without(right, more)
		context = beside(right, wrong)
	}
	// Some may be wrong only because of others.
	doubtful := filter(wrong, func(f *ast.Field) bool { return d.fits(child(context, f), f.Value) })
	if len(doubtful) == 0 {
		return right, wrong, context
	}
	wrong = without(wrong, doubtful)
	for _, f := range doubtful {
		next := d.at(p, cuesyntax.Struct(with, append(slices.Clone(right), f)...))
		if sound(child(next, f)) && !failedUnion(next) {
			right = append(right, f)
		} else {
			wrong = append(wrong, f)
		}
	}
	return right, wrong, beside(right, wrong)
}

// fits says whether a value could be right, as far as can be told without its
// siblings.
func (d *diagnosis) fits(schema cue.Value, e ast.Expr) bool {
	kinds := kindsOf(schema)
	switch {
	case kinds == cue.BottomKind:
		return true
	case kinds&kindOf(e) == 0:
		return false
	case kindOf(e)&(cue.StructKind|cue.ListKind) != 0:
		return true
	}
	return sound(schema.Unify(d.built.ctx.BuildExpr(e)))
}

// notAllowed says whether a field is one that its struct doesn't have.
func notAllowed(v cue.Value) bool {
	for _, e := range cueerror.List(v.Err()) {
		if format, _ := e.Msg(); format == "field not allowed" && len(e.Path()) <= len(v.Path().Selectors()) {
			return true
		}
	}
	return false
}

// incomplete reports what is missing inside a value that is right so far.
func (d *diagnosis) incomplete(p place, v cue.Value, e ast.Expr) {
	if complete(v) {
		return
	}
	before := len(d.problems)
	switch x := e.(type) {
	case *ast.StructLit:
		if len(alternatives(v)) > 1 {
			d.value(p, e)
			return
		}
		d.missing(p, v, x, nil)
		for _, f := range cuesyntax.Fields(x) {
			d.incomplete(p.field(cuesyntax.Fields(x), cuesyntax.LabelName(f.Label)), child(v, f), f.Value)
		}
	case *ast.ListLit:
		for i, item := range x.Elts {
			d.incomplete(p.item(i, x.Elts[:i], x.Elts[i+1:]), v.LookupPath(cue.MakePath(cue.Index(i))), item)
		}
	}
	if len(d.problems) == before {
		d.constraint(v, e, p.path, v)
	}
}
