package translate

import (
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// Frame is a struct that is being read. Expressions that relate its fields wait
// in it until all fields are known. Package read creates the frame when it enters
// the struct and fills it while it reads the fields.
type Frame struct {
	// Literals are the struct's literals. References name one of them as their
	// scope.
	Literals []ast.Node
	// Depth is the number of segments from the root to the struct.
	Depth int
	// Pending are the expressions to translate, in source order.
	Pending []Pending
	// object is the struct itself, set by [Frame.Finish].
	object *shape.Object
	// Allowed are the guards under which a field may be present, by field.
	Allowed map[string][]Allowed
	// Shared are the fields that others are equal to. If the CRD had a default
	// for such a field, it would look as if the instance had set it, and the
	// other field could no longer differ.
	Shared []Shared
	// Guarded has the additions of ifs and fors to the struct.
	Guarded *syntax.Guarded
	// Unless are the fields that must be given unless an if supplies them.
	Unless map[string]Unless
}

// Segment is one step on the path from the root to a value: to a field, to all
// items of a list or values of a map, or across a barrier. Behind a barrier are
// values that don't exist exactly once, such as an item of a tuple or a member
// of a disjunction; no rule of an outer struct can be about them.
type Segment struct {
	// Field is the name of the field.
	Field string
	// Barrier marks a barrier.
	Barrier bool
	// Each is [EachItem] or [EachValue] for all items or values.
	Each string
}

// Names of segments that stand for all items of a list or all values of a map.
const (
	EachItem  = "\x00[]"
	EachValue = "\x00*"
)

// Name returns the segment as part of a path. It reports false for a barrier.
func (s Segment) Name() (string, bool) {
	if s.Each != "" {
		return s.Each, true
	}
	return s.Field, !s.Barrier
}

// Pending is an expression that waits to be translated into a rule.
type Pending struct {
	// Target is the path from the frame to the value that the expression
	// constrains.
	Target []string
	// Expr is the expression of a field. It is nil if Comprehension is set.
	Expr ast.Expr
	// Comprehension is an if in the body of a struct.
	Comprehension *ast.Comprehension
	// Frames are the structs around the expression, outermost first, whose
	// fields it may name.
	Frames []*Frame
	// Segments are the path from the root to the expression.
	Segments []Segment
	// Notes are reported if there is no exact rule.
	Notes []problem.Problem
	// Blurred means that CUE does not reject the value if the expression reads
	// an absent field. See the context of package read.
	Blurred bool
}

// Finish completes o, the struct of f, when all of its fields are known: it
// adds the rules for pending expressions and drops defaults that would change
// the meaning of others. It returns the notes of what CEL can't express.
func (f *Frame) Finish(o *shape.Object, c *syntax.Guarded, s Schema) []problem.Problem {
	f.object = o
	// Defaults are dropped first, because the rules depend on the defaults that
	// remain.
	for _, s := range f.Shared {
		forget(o, s)
	}
	var notes []problem.Problem
	for _, p := range f.Pending {
		notes = append(notes, f.resolve(s, p)...)
	}
	// These rules use the guards that resolve has recorded in f.Allowed.
	for _, g := range o.Fields {
		if u, ok := f.Unless[g.Name]; ok {
			notes = append(notes, f.give(o, c, g, u)...)
		}
	}
	f.allow(o, c)
	return notes
}
