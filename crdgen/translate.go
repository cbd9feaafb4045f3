package crdgen

import (
	"math"
	"math/big"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueformat "cuelang.org/go/cue/format"
	"cuelang.org/go/cue/token"
)

// translator says expressions about the fields of one struct, self, in CEL.
type translator struct {
	r      *reader
	frame  *frame
	frames []*frame
	steps  []step
	// blurred says that CUE doesn't reject what reads an absent field.
	blurred bool
	// needs are the fields that the last expression reads.
	needs []access
	// fields are those of self that were looked at.
	fields []string
	// defaulted says that a rule is exact only if the defaults of the fields
	// that it reads are in the schema.
	defaulted bool
}

// operand is a value in CEL.
type operand struct {
	text  string
	shape shape
	// above and below hold where the value is beyond what CEL can hold, so that
	// text fails. Only comparisons ask for them.
	above, below string
}

// isLimited says whether the value may be beyond what CEL can hold.
func (o operand) isLimited() bool { return o.above != "" || o.below != "" }

// constant is the value of an expression that names no field.
func (t *translator) constant(e ast.Expr) (operand, bool) {
	if anyFieldRefers(e) {
		return operand{}, false
	}
	v, ok := t.r.build(e)
	if !ok {
		return operand{}, false
	}
	l, ok := literalOf(v)
	if !ok {
		return operand{}, false
	}
	out := operand{shape: shape{{kind: kindOf(v.Kind()), value: &l}}}
	switch {
	case l.string != nil:
		out.text = celString(*l.string)
	case l.number != nil:
		out.text, ok = celNumber(l.number, v.Kind() != cue.IntKind)
	default:
		out.text = string(l.json)
	}
	return out, ok && string(l.json) != "null"
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
		if name, ok := calleeName(x); ok && name == "len" && len(x.Args) == 1 {
			arg, ok := t.value(x.Args[0])
			rest, nullable := withoutNull(arg.shape)
			kinds := kindsOf(rest)
			sized := kinds == cue.ListKind || kinds == cue.StructKind && len(rest) == 1 && rest[0].object.isMap()
			if arg.isLimited() {
				return operand{}, false
			}
			if kinds == cue.StringKind && !nullable {
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
func sizes() shape {
	return shape{{kind: cue.IntKind, num: numbers{min: &limit{at: new(big.Rat)}, max: &limit{at: big.NewRat(math.MaxInt32, 1)}}}}
}

// areComparable says whether CEL compares a with b as CUE does.
func areComparable(a, b shape) bool {
	ka, kb := kindsOf(a), kindsOf(b)
	switch {
	case ka&^cue.NumberKind == 0 && kb&^cue.NumberKind == 0:
		// A float and an integer compare in 64 bits.
		return ka == kb || isSmall(a) || isSmall(b)
	case ka == kb:
		return ka == cue.StringKind || ka == cue.BoolKind
	}
	return false
}

// isSmall says whether floats hold all of the numbers in s.
func isSmall(s shape) bool {
	for _, t := range s {
		low, high := t.interval()
		if low == nil || high == nil || !(&limit{at: low}).isSafe() || !(&limit{at: high}).isSafe() {
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
func compareValues(a operand, op token.Token, b operand) predicate {
	sign, ok := operator(op)
	if !ok || !areComparable(a.shape, b.shape) || a.isLimited() && b.isLimited() {
		return unknown()
	}
	if a.isLimited() || b.isLimited() {
		return compareBeyond(a, op, b)
	}
	if kindsOf(a.shape) != kindsOf(b.shape) && (op == token.EQL || op == token.NEQ) {
		return predicate{text: "double(" + a.text + ")" + sign + "double(" + b.text + ")", exact: true}
	}
	return predicate{text: a.text + sign + b.text, exact: true}
}

// constraint is the predicate that the field at is what e says.
func (t *translator) constraint(e ast.Expr, at access) predicate {
	self := operand{text: at.text, shape: at.shape}
	if x, ok := e.(*ast.UnaryExpr); ok && x.Op == token.MUL {
		// A default alone is an error, says CUE.
		return t.constraint(x.X, at)
	}
	if !anyFieldRefers(e) {
		return t.static(e, at)
	}
	switch x := e.(type) {
	case *ast.ParenExpr:
		return t.constraint(x.X, at)
	case *ast.BinaryExpr:
		switch x.Op {
		case token.AND:
			return allOf(t.constraint(x.X, at), t.constraint(x.Y, at))
		case token.OR:
			return anyOf(t.member(x.X, at), t.member(x.Y, at))
		}
	case *ast.UnaryExpr:
		switch x.Op {
		case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ:
			if b, ok := t.value(x.X); ok {
				return compareValues(self, x.Op, b)
			}
			return unknown()
		}
	case *ast.CallExpr:
		return t.call(x, self)
	}
	if b, ok := t.value(e); ok {
		return compareValues(self, token.EQL, b)
	}
	return unknown()
}

// member is the predicate for a member of a disjunction. What it reads is asked of
// it alone.
func (t *translator) member(e ast.Expr, at access) predicate {
	needs := t.needs
	t.needs = nil
	seen := map[string]bool{}
	for _, g := range at.guards {
		seen[g.text] = true
	}
	p := t.constraint(e, at)
	if t.strays(seen) {
		p = unknown()
	}
	p = t.reading(seen, p)
	t.needs = needs
	return p
}

// static is the predicate for an expression that names no field.
func (t *translator) static(e ast.Expr, at access) predicate {
	before := t.r.floats
	t.r.floats = false
	s, ok := t.r.staticShape(e, false)
	floats := t.r.floats
	t.r.floats = before
	if !ok {
		return unknown()
	}
	if floats && kindsOf(s) == cue.NumberKind && kindsOf(at.shape) == cue.IntKind {
		return never()
	}
	p := holds(s, at.shape, at.text)
	if isNullable(at.shape) {
		// CEL takes null for absent.
		p = implies("has("+at.text+")", holdsUnlessNull(s, at.shape, at.text))
		p.exact = p.exact && isNullable(s)
	}
	// Only where a schema always wants a float does rendering make one of an int.
	p.exact = p.exact && !floats
	return p
}

// staticShape reads an expression that names no field of the instance.
func (r *reader) staticShape(e ast.Expr, closed bool) (shape, bool) {
	v, ok := r.build(e)
	if !ok {
		return nil, false
	}
	if v.IncompleteKind() == cue.BottomKind {
		return nil, v.Err() != nil
	}
	var s shape
	before := *r
	r.conditional = nil // it may be from a comprehension's body
	r.steps, r.closed = append(r.steps[:len(r.steps):len(r.steps)], step{barrier: true}), closed
	notes := r.capture(func() { s = r.shape(v, "", nil) })
	r.steps, r.closed, r.conditional = before.steps, before.closed, before.conditional
	return s, len(notes) == 0 && r.err == nil
}

// call is the predicate for a validator whose argument is another field.
func (t *translator) call(x *ast.CallExpr, self operand) predicate {
	name, ok := calleeName(x)
	if !ok || len(x.Args) != 1 {
		return unknown()
	}
	arg, ok := t.value(x.Args[0])
	if !ok {
		return unknown()
	}
	rest, nullable := withoutNull(self.shape)
	kinds := kindsOf(rest)
	size := operand{text: "size(" + self.text + ")", shape: sizes()}
	switch {
	case nullable || len(rest) == 0:
	case name == "strings.MinRunes" && kinds == cue.StringKind, name == "list.MinItems" && kinds == cue.ListKind:
		return compareValues(size, token.GEQ, arg)
	case name == "strings.MaxRunes" && kinds == cue.StringKind, name == "list.MaxItems" && kinds == cue.ListKind:
		return compareValues(size, token.LEQ, arg)
	case name == "or" && kindsOf(arg.shape) == cue.ListKind:
		items := sumOfLists(arg.shape).items
		if !anyIsOpen(items) && kindsOf(items) == kinds && (kinds == cue.StringKind || kinds == cue.IntKind) {
			return predicate{text: self.text + " in " + arg.text, exact: true}
		}
	}
	return unknown()
}

func anyIsOpen(s shape) bool { return len(s) == 0 || kindsOf(s)&cue.TopKind == cue.TopKind }

// calleeName is the name of a builtin that x calls.
func calleeName(x *ast.CallExpr) (string, bool) {
	switch f := x.Fun.(type) {
	case *ast.Ident:
		return f.Name, f.Node == nil
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		if !ok {
			return "", false
		}
		spec, ok := pkg.Node.(*ast.ImportSpec)
		name, ok2 := staticName(f.Sel)
		if !ok || !ok2 {
			return "", false
		}
		return strings.Trim(spec.Path.Value, `"`) + "." + name, true
	}
	return "", false
}

// textOf is an expression in CUE's words, on one line.
func textOf(n ast.Node) string {
	data, err := cueformat.Node(n, cueformat.Simplify())
	if err != nil {
		return ""
	}
	return strings.Join(strings.Fields(string(data)), " ")
}
