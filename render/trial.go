package render

import (
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// place is a place in the instance: how to put another value there, beside
// siblings that are right. Everything is evaluated anew from the top.
type place struct {
	wrap func(ast.Expr) *ast.StructLit
	sels []cue.Selector
	path string
}

// field is the place of a field beside its siblings.
func (p place) field(siblings []*ast.Field, name string) place {
	rest := slices.DeleteFunc(slices.Clone(siblings), func(s *ast.Field) bool { return cuesyntax.LabelName(s.Label) == name })
	return place{
		wrap: func(e ast.Expr) *ast.StructLit {
			return p.wrap(cuesyntax.Struct(rest, &ast.Field{Label: cuesyntax.Label(name, token.NoPos), Value: e}))
		},
		sels: append(slices.Clone(p.sels), cue.Str(name)),
		path: fieldpath.Join(p.path, name),
	}
}

// item is the place of a list's item i among others.
func (p place) item(i int, before, after []ast.Expr) place {
	return place{
		wrap: func(e ast.Expr) *ast.StructLit {
			return p.wrap(ast.NewList(slices.Concat(before, []ast.Expr{e}, after)...))
		},
		sels: append(slices.Clone(p.sels), cue.Index(len(before))),
		path: p.path + fieldpath.Index(i),
	}
}

// A walk evaluates the instance, or parts of it, again and again. This many
// fields in all take about a second.
const maxSpent = 300_000

type overspent struct{}

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
	for _, e := range cueerror.List(v.Err()) {
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
		d.base = 50 // even a small one takes its time
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

// complete says whether a value is all that its schema wants, sound whether it
// is right so far.
func complete(v cue.Value) bool { return v.Validate(cue.Concrete(true), cue.All()) == nil }

func sound(v cue.Value) bool { return v.Validate() == nil }
