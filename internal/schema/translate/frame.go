package translate

import (
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
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

// Allowed is a guard under which a field is allowed.
type Allowed struct {
	// when holds if the guard may hold, and text is the guard in CUE syntax.
	when cel.Predicate
	text string
	// notes are those of the comprehension.
	notes []problem.Problem
	// fields are the fields of the struct that the guard reads.
	fields []string
}

// Unless describes a field that must be given unless an if supplies it.
type Unless struct {
	// Fills tells when the ifs supply it.
	Fills Fills
	// Notes are reported if there is no exact rule.
	Notes []problem.Problem
}

// Fills tells when the guards of a struct supply a field that has no value
// without them.
type Fills int

const (
	// FillsUnknown means that it can't be told.
	FillsUnknown Fills = iota
	// FillsNever means that no combination of guards supplies the field.
	FillsNever
	// FillsSometimes means that some guards do, or several together.
	FillsSometimes
	// FillsAlways means that each guard alone does.
	FillsAlways
)
