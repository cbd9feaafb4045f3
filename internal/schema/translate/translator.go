package translate

import (
	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// translator translates one pending expression into CEL predicates about the
// fields of one struct, self.
type translator struct {
	// schema evaluates the parts that name no field.
	schema Schema
	// frame is the frame of self.
	frame *Frame
	// frames and segments are copied from the pending expression.
	frames   []*Frame
	segments []Segment
	// blurred is copied from the pending expression. A declaration in an if
	// changes it for a while.
	blurred bool
	// needs are the fields that the expressions translated since the last reset
	// read. [translator.reading] guards a predicate by their presence and
	// resets them.
	needs []access
	// fields are the names of the fields of self that were read.
	fields []string
	// defaulted means that the rule is exact only if the CRD has the defaults
	// of the fields that it reads.
	defaulted bool
	// notes are about the parts of the expression that the rule leaves out.
	notes []problem.Problem
}

// Schema evaluates expressions that name no field of the instance. Package read
// implements it.
type Schema interface {
	// Literal returns the scalar that e evaluates to, as the value of a single
	// term. It reports false if e is no concrete scalar.
	Literal(e ast.Expr) (s shape.Shape, ok bool)
	// IsConcrete reports whether e evaluates to a concrete value, and whether e
	// can be evaluated.
	IsConcrete(e ast.Expr) (concrete, ok bool)
	// Shape returns the shape of e. Floats reports whether the shape admitted
	// only floats somewhere, which no shape distinguishes from numbers. Ok is
	// false if the shape is not exact.
	Shape(e ast.Expr) (s shape.Shape, floats, ok bool)
}

// operand is a value in CEL.
type operand struct {
	// text is a CEL expression for the value.
	text string
	// shape contains the value.
	shape shape.Shape
	// above and below are CEL expressions that hold if the value is above or
	// below the range of CEL's integers, so that text would fail. They are
	// empty if that can't happen. Only comparisons use them.
	above, below string
}

// isLimited reports whether the value may be outside the range of CEL's
// integers.
func (o operand) isLimited() bool { return o.above != "" || o.below != "" }

// access is a field of self that an expression reads.
type access struct {
	// operand is the field, such as self.limits.max, with the shape with which
	// the schema declares it.
	operand
	// presences are the fields on the way that may be absent, the field itself
	// included, outermost first.
	presences []presence
	// conditional means that only the bodies of ifs declare the field.
	conditional bool
}

// presence is a field that may be absent, and the CEL expression that tests it.
type presence struct {
	// text is has(FIELD), or the list or map itself if variable is set.
	text string
	// optional fields stay absent. The others are supplied: by the API server
	// if value is set, which means that the CRD has their default, and by
	// rendering otherwise.
	optional bool
	value    bool
	// nullable fields may be null, for which has() is false.
	nullable bool
	// filled fields may get a value from an if, which may contradict their own
	// value if clashes is set.
	filled, clashes bool
	// variable, if set, stands for each item of the list, or each key of the
	// map, that text names. The presences after it are then about that item.
	variable string
}
