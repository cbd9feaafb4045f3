package translate

import (
	"cuelang.org/go/cue/ast"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// frame is a struct that is being read. What its fields demand of each other
// waits there until all of them are known.
type Frame struct {
	// literals are the struct's own, which references name as their scope.
	Literals []ast.Node
	// depth is how many steps led to the struct.
	Depth   int
	Pending []Pending
	object  *shape.Object
	// allowed are the conditions under which fields may be there.
	Allowed map[string][]Allowed
	// shared are the fields that others are equal to. A default in the schema would be taken for the instance's word,
	// and the others couldn't differ from it any more.
	Shared []Shared
	// condition is what comprehensions may add to the struct.
	Guarded *syntax.Guarded
	// unless are the fields that must be given unless conditions fill them.
	Unless map[string]Unless
}

// step leads from a struct to a field of it, or over a barrier: to what isn't
// there exactly once, such as an item of a tuple or a member of a union.
type Segment struct {
	Field   string
	Barrier bool
	// each is eachItem or eachValue where the step leads to all of a list's
	// items or of a map's values.
	Each string
}

// Segments of a path that are no names.
const (
	EachItem  = "\x00[]"
	EachValue = "\x00*"
)

// name is the step as a segment of a path. It reports false for a barrier.
func (s Segment) Name() (string, bool) {
	if s.Each != "" {
		return s.Each, true
	}
	return s.Field, !s.Barrier
}

// pending is an expression to be translated into a rule of the frame where it
// waits.
type Pending struct {
	// target is the value that the expression constrains, from the frame.
	Target []string
	Expr   ast.Expr
	// comprehension is set instead of expr.
	Comprehension *ast.Comprehension
	// frames are those that references may name.
	Frames   []*Frame
	Segments []Segment
	// notes say what is left to rendering without the rule.
	Notes []problem.Problem
	// blurred is what it was for the reader.
	Blurred bool
}

// Finish gives o, the struct of f whose fields are now known, the rules that
// waited. It returns the notes of what CEL can't say.
func (f *Frame) Finish(o *shape.Object, c *syntax.Guarded, s Schema) []problem.Problem {
	f.object = o
	for _, s := range f.Shared {
		forget(o, s)
	}
	var notes []problem.Problem
	for _, p := range f.Pending {
		notes = append(notes, f.resolve(s, p)...)
	}
	for _, g := range o.Fields {
		if u, ok := f.Unless[g.Name]; ok {
			notes = append(notes, f.give(o, c, g, u)...)
		}
	}
	f.allow(o, c)
	return notes
}
