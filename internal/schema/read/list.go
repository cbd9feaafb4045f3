package read

import (
	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
	"github.com/pequod-io/pequod/internal/schema/translate"
)

// list reads the list v. Lit is its source if that is a literal, and nil
// otherwise. [string, int, ...bool] has the prefix string and int, the rest bool,
// and at least two items.
func (r *reader) list(v cue.Value, lit *ast.ListLit, in context) shape.Shape {
	// A comprehension in a list may add any number of items.
	if lit != nil {
		for _, e := range lit.Elts {
			if c, ok := e.(*ast.Comprehension); ok && syntax.DependsOnInput(c) {
				in.note(c.Pos(), "what a comprehension over other fields puts into the list")
				return shape.OfKinds(shape.ListKind)
			}
		}
	}
	in, ok := r.enter(in, syntax.Key(lit))
	if !ok {
		return shape.Any()
	}

	item := in.below("[]")
	l := &shape.List{Closed: true}
	items, err := v.List()
	if err != nil {
		in.note(v.Pos(), "%s", sourceText(v))
		return shape.OfKinds(shape.ListKind)
	}
	for items.Next() {
		// A rule of an outer struct can't be about one item, hence the barrier.
		l.Prefix = append(l.Prefix, r.shape(items.Value(), item.across(translate.Segment{Barrier: true}), nil))
	}
	if rest := v.LookupPath(cue.MakePath(cue.AnyIndex)); rest.Exists() || syntax.IsOpen(lit) {
		l.Closed = false
		each := translate.Segment{Each: translate.EachItem}
		// Rules about all items would be about the prefix, too.
		if len(l.Prefix) > 0 {
			each = translate.Segment{Barrier: true}
		}
		l.Rest = r.shape(rest, item.across(each), nil)
		if len(l.Rest) == 0 {
			l.Closed = true // [...T] has no items if T admits nothing
		}
	}
	n := int64(len(l.Prefix))
	if n > 0 {
		l.Min = &n
	}
	if l.Closed {
		l.Max = &n
	}
	return shape.Shape{{Kind: shape.ListKind, List: l}}
}
