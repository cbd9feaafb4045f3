package diagnose

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

// location is a location in the instance at which other values can be tried,
// among siblings that are known to be valid. CUE can't change one value of an
// evaluated whole, so every trial evaluates the instance from its top.
type location struct {
	// wrap returns the whole instance with an expression at this location.
	wrap func(ast.Expr) *ast.StructLit
	// selectors lead to the location in the trial, and path to it in the
	// instance.
	selectors []cue.Selector
	path      string
}

// field returns the location of a field among its siblings, which may contain the
// field itself: it is replaced in trials.
func (l location) field(siblings []*ast.Field, name string) location {
	rest := slices.DeleteFunc(slices.Clone(siblings), func(s *ast.Field) bool { return cuesyntax.LabelName(s.Label) == name })
	return location{
		wrap: func(e ast.Expr) *ast.StructLit {
			return l.wrap(cuesyntax.Struct(rest, &ast.Field{Label: cuesyntax.Label(name, token.NoPos), Value: e}))
		},
		selectors: append(slices.Clone(l.selectors), cue.Str(name)),
		path:      fieldpath.Join(l.path, name),
	}
}

// item returns the location of a list item between other items. i is the item's
// index in the instance, which may differ from its index in the trial.
func (l location) item(i int, before, after []ast.Expr) location {
	return location{
		wrap: func(e ast.Expr) *ast.StructLit {
			return l.wrap(ast.NewList(slices.Concat(before, []ast.Expr{e}, after)...))
		},
		selectors: append(slices.Clone(l.selectors), cue.Index(len(before))),
		path:      l.path + fieldpath.Index(i),
	}
}

// maxCost bounds the evaluations of one walk, in fields and items evaluated. It
// takes about a second.
const maxCost = 300_000

// minModuleCost is the cost of an evaluation of a tiny module.
const minModuleCost = 50

// budgetExceeded is the panic that ends a walk whose evaluations exceed
// maxCost.
type budgetExceeded struct{}

// try evaluates the instance with e at a location and returns the value there:
// the schema unified with e. In a union none of whose branches takes e, CUE
// would return e without any schema; try returns an error value instead.
//
// try panics with budgetExceeded once all trials of the walk have cost more than
// maxCost; walk recovers it.
func (d *diagnosis) try(loc location, e ast.Expr) cue.Value {
	whole := loc.wrap(e)
	d.spent += d.costOfModule() + sizeOf(whole)
	if d.spent > maxCost {
		panic(budgetExceeded{})
	}
	v := d.eval(whole)
	// Look for a failed union on the way, not only at the end: below one CUE
	// returns data without a schema.
	for _, sel := range loc.selectors {
		if v.IncompleteKind() == cue.BottomKind && isFailedUnion(v) {
			return d.build(&ast.BottomLit{})
		}
		v = v.LookupPath(cue.MakePath(sel))
	}
	return v
}

// isFailedUnion reports whether the error of a value is that of a disjunction
// itself and not of something inside it. It is true for the error that try
// returns, too.
func isFailedUnion(v cue.Value) bool {
	depth := len(v.Path().Selectors())
	for _, e := range cueerror.List(v.Err()) {
		format, _ := e.Msg()
		if (strings.Contains(format, "empty disjunction") || strings.HasPrefix(format, explicitError)) && len(e.Path()) <= depth {
			return true
		}
	}
	return false
}

// costOfModule returns the share of an evaluation's cost that does not depend on
// the instance: minModuleCost and the number of fields and items in the files of
// the module. Imported packages do not count.
func (d *diagnosis) costOfModule() int {
	if d.moduleCost == 0 {
		d.moduleCost = minModuleCost
		if inst := d.root.BuildInstance(); inst != nil {
			for _, f := range inst.Files {
				d.moduleCost += sizeOf(f)
			}
		}
	}
	return d.moduleCost
}

// sizeOf returns the number of fields and list items in syntax.
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
