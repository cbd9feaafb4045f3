package translate

import (
	"math"
	"math/big"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
	"github.com/pequod-io/pequod/internal/schema/syntax"
)

// translator says expressions about the fields of one struct, self, in CEL.
type translator struct {
	schema   Schema
	frame    *Frame
	frames   []*Frame
	segments []Segment
	// blurred says that CUE doesn't reject what reads an absent field.
	blurred bool
	// needs are the fields that the last expression reads.
	needs []access
	// fields are those of self that were looked at.
	fields []string
	// defaulted says that a rule is exact only if the defaults of the fields
	// that it reads are in the schema.
	defaulted bool
	// notes are what is lost.
	notes []problem.Problem
}

// Schema answers for expressions that name no field of the instance.
type Schema interface {
	Literal(e ast.Expr) (l shape.Literal, kind shape.Kind, ok bool)
	IsConcrete(e ast.Expr) (concrete, ok bool)
	Shape(e ast.Expr) (s shape.Shape, floats, ok bool)
}

// operand is a value in CEL.
type operand struct {
	text  string
	shape shape.Shape
	// above and below hold where the value is beyond what CEL can hold, so that
	// text fails. Only comparisons ask for them.
	above, below string
}

// isLimited says whether the value may be beyond what CEL can hold.
func (o operand) isLimited() bool { return o.above != "" || o.below != "" }

// constant is the value of an expression that names no field.
func (t *translator) constant(e ast.Expr) (operand, bool) {
	if syntax.AnyFieldRefers(e) {
		return operand{}, false
	}
	l, kind, ok := t.schema.Literal(e)
	if !ok {
		return operand{}, false
	}
	out := operand{shape: shape.Shape{{Kind: kind, Value: &l}}}
	switch {
	case l.String != nil:
		out.text = cel.String(*l.String)
	case l.Number != nil:
		out.text, ok = cel.Number(l.Number, kind != shape.IntKind)
	default:
		out.text = string(l.Json)
	}
	return out, ok && string(l.Json) != "null"
}

// value is the value of e. It reports false for what CEL can't say or could
// overflow on.
func (t *translator) value(e ast.Expr) (operand, bool) {
	if c, ok := t.constant(e); ok {
		return c, true
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.value(x.X)
	case *ast.BinaryExpr:
		return t.arithmetic(x)
	case *ast.Interpolation:
		return t.interpolation(x)
	case *ast.CallExpr:
		if name, ok := syntax.CalleeName(x); ok && name == "len" && len(x.Args) == 1 {
			arg, ok := t.value(x.Args[0])
			rest, nullable := shape.WithoutNull(arg.shape)
			kinds := shape.KindsOf(rest)
			sized := kinds == shape.ListKind || kinds == shape.StructKind && len(rest) == 1 && rest[0].Object.IsMap()
			if arg.isLimited() {
				return operand{}, false
			}
			if kinds == shape.StringKind && !nullable {
				// CUE counts bytes here, not characters.
				return operand{text: "size(bytes(" + arg.text + "))", shape: sizes()}, ok
			}
			return operand{text: "size(" + arg.text + ")", shape: sizes()}, ok && !nullable && sized
		}
		return operand{}, false
	}
	path, ok := t.path(e)
	if !ok {
		return operand{}, false
	}
	a, ok := t.look(path)
	if !ok {
		return operand{}, false
	}
	t.needs = append(t.needs, a)
	return operand{text: a.text, shape: a.shape}, true
}

// sizes is what lengths are, in what an API server takes.
func sizes() shape.Shape {
	return shape.Shape{{Kind: shape.IntKind, Numbers: shape.Numbers{Min: &shape.Limit{At: new(big.Rat)}, Max: &shape.Limit{At: big.NewRat(math.MaxInt32, 1)}}}}
}

// areComparable says whether CEL compares a with b as CUE does.
func areComparable(a, b shape.Shape) bool {
	ka, kb := shape.KindsOf(a), shape.KindsOf(b)
	switch {
	case ka&^shape.NumberKind == 0 && kb&^shape.NumberKind == 0:
		// A float and an integer compare in 64 bits.
		return ka == kb || isSmall(a) || isSmall(b)
	case ka == kb:
		return ka == shape.StringKind || ka == shape.BoolKind
	}
	return false
}

// isSmall says whether floats hold all of the numbers in s.
func isSmall(s shape.Shape) bool {
	for _, t := range s {
		low, high := t.Interval()
		if low == nil || high == nil || !(&shape.Limit{At: low}).IsSafe() || !(&shape.Limit{At: high}).IsSafe() {
			return false
		}
	}
	return len(s) > 0
}

// operators are CUE's and CEL's signs for the same comparison.
func operator(op token.Token) (string, bool) {
	switch op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		return " " + op.String() + " ", true
	}
	return "", false
}

// compareValues is the predicate that a op b.
func compareValues(a operand, op token.Token, b operand) cel.Predicate {
	sign, ok := operator(op)
	if !ok || !areComparable(a.shape, b.shape) || a.isLimited() && b.isLimited() {
		return cel.Unknown()
	}
	if a.isLimited() || b.isLimited() {
		return compareBeyond(a, op, b)
	}
	if shape.KindsOf(a.shape) != shape.KindsOf(b.shape) && (op == token.EQL || op == token.NEQ) {
		return cel.Predicate{Text: "double(" + a.text + ")" + sign + "double(" + b.text + ")", Exact: true}
	}
	return cel.Predicate{Text: a.text + sign + b.text, Exact: true}
}

// constraint is the predicate that the field at is what e says.
func (t *translator) constraint(e ast.Expr, at access) cel.Predicate {
	self := operand{text: at.text, shape: at.shape}
	if x, ok := e.(*ast.UnaryExpr); ok && x.Op == token.MUL {
		// A default alone is an error, says CUE.
		return t.constraint(x.X, at)
	}
	if !syntax.AnyFieldRefers(e) {
		return t.static(e, at)
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.constraint(x.X, at)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.AND:
			return cel.AllOf(t.constraint(x.X, at), t.constraint(x.Y, at))
		case token.OR:
			return cel.AnyOf(t.member(x.X, at), t.member(x.Y, at))
		}
	case *ast.UnaryExpr:
		switch x.Op {
		case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ:
			if b, ok := t.value(x.X); ok {
				return compareValues(self, x.Op, b)
			}
			return cel.Unknown()
		}
	case *ast.CallExpr:
		return t.call(x, self)
	}
	if b, ok := t.value(e); ok {
		return compareValues(self, token.EQL, b)
	}
	return cel.Unknown()
}

// member is the predicate for a member of a disjunction. What it reads is asked of
// it alone.
func (t *translator) member(e ast.Expr, at access) cel.Predicate {
	needs := t.needs
	t.needs = nil
	seen := map[string]bool{}
	for _, g := range at.presences {
		seen[g.text] = true
	}
	p := t.constraint(e, at)
	if t.strays(seen) {
		p = cel.Unknown()
	}
	p = t.reading(seen, p)
	t.needs = needs
	return p
}

// static is the predicate for an expression that names no field.
func (t *translator) static(e ast.Expr, at access) cel.Predicate {
	s, floats, ok := t.schema.Shape(e)
	if !ok {
		return cel.Unknown()
	}
	if floats && shape.KindsOf(s) == shape.NumberKind && shape.KindsOf(at.shape) == shape.IntKind {
		return cel.Never()
	}
	p := cel.Holds(s, at.shape, at.text)
	if shape.IsNullable(at.shape) {
		// CEL takes null for absent.
		p = cel.Implies("has("+at.text+")", cel.HoldsUnlessNull(s, at.shape, at.text))
		p.Exact = p.Exact && shape.IsNullable(s)
	}
	// Only where a schema always wants a float does rendering make one of an int.
	p.Exact = p.Exact && !floats
	return p
}

// call is the predicate for a validator whose argument is another field.
func (t *translator) call(x *ast.CallExpr, self operand) cel.Predicate {
	name, ok := syntax.CalleeName(x)
	if !ok || len(x.Args) != 1 {
		return cel.Unknown()
	}
	arg, ok := t.value(x.Args[0])
	if !ok {
		return cel.Unknown()
	}
	rest, nullable := shape.WithoutNull(self.shape)
	kinds := shape.KindsOf(rest)
	size := operand{text: "size(" + self.text + ")", shape: sizes()}
	switch {
	case nullable || len(rest) == 0:
	case name == "strings.MinRunes" && kinds == shape.StringKind, name == "list.MinItems" && kinds == shape.ListKind:
		return compareValues(size, token.GEQ, arg)
	case name == "strings.MaxRunes" && kinds == shape.StringKind, name == "list.MaxItems" && kinds == shape.ListKind:
		return compareValues(size, token.LEQ, arg)
	case name == "or" && shape.KindsOf(arg.shape) == shape.ListKind:
		items := shape.EnvelopeOfLists(arg.shape).Items
		if !anyIsOpen(items) && shape.KindsOf(items) == kinds && (kinds == shape.StringKind || kinds == shape.IntKind) {
			return cel.Predicate{Text: self.text + " in " + arg.text, Exact: true}
		}
	}
	return cel.Unknown()
}

func anyIsOpen(s shape.Shape) bool {
	return len(s) == 0 || shape.KindsOf(s)&shape.TopKind == shape.TopKind
}
