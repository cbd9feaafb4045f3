package syntax

import (
	"strconv"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
)

// Expression returns the expression in the source of a value, which may be a
// field, an embedding, an alias or an expression, without parentheses. It is
// nil for other nodes.
func Expression(n ast.Node) ast.Expr {
	switch x := n.(type) {
	case *ast.Field:
		return Expression(x.Value)
	case *ast.EmbedDecl:
		return Expression(x.Expr)
	case *ast.Alias:
		return Expression(x.Expr)
	case *ast.ParenExpr:
		return Expression(x.X)
	case ast.Expr:
		return x
	}
	return nil
}

// Parameters are the names of the definitions and hidden fields whose values
// come from the instance: for #S & {#size: n}, where n is a field of the
// instance, #size is one. A definition declares its parameters without the values
// that its users give them, so the declaration alone doesn't show the dependency.
// References to names of the file are not concerned. The nil map has no
// parameters.
type Parameters map[string]bool

// DependsOnInput reports whether n itself refers to fields of the instance.
// Fields of struct literals in n don't count: they are read one by one. Operands
// of bounds do. For {a: b} & c it looks at c, and not at b.
func (p Parameters) DependsOnInput(n ast.Node) bool {
	return References{FieldsOf: false, Bounds: true, Parameters: p}.in(n)
}

// ValueDependsOnInput reports whether the value of n may come from fields of the
// instance outside of n. A bound supplies no value. For int & >=min it is false,
// and for *min | int it is true.
func (p Parameters) ValueDependsOnInput(n ast.Node) bool {
	return References{FieldsOf: true, Parameters: p, within: n}.in(n)
}

// AnyDependsOnInput reports whether anything in n refers to fields of the
// instance outside of n.
func (p Parameters) AnyDependsOnInput(n ast.Node) bool {
	return References{FieldsOf: true, Bounds: true, Parameters: p, within: n}.in(n)
}

// AnyFieldRefers reports whether anything in n refers to a field of the
// instance, inside or outside of n.
func (p Parameters) AnyFieldRefers(n ast.Node) bool {
	return References{FieldsOf: true, Bounds: true, Parameters: p}.in(n)
}

// References looks for references to fields of the instance.
type References struct {
	// FieldsOf makes it look into the fields of struct literals.
	FieldsOf bool
	// Bounds makes it look into the operands of bounds.
	Bounds bool
	// Parameters count as fields of the instance, too.
	Parameters Parameters
	// within, if set, is a node; references to fields in it don't count.
	within ast.Node
	// Seen are the declarations that were followed, against endless loops.
	Seen map[ast.Node]bool
}

// in reports whether n contains a reference.
func (r References) in(n ast.Node) bool {
	if IsNil(n) {
		return false
	}
	if r.Seen == nil {
		r.Seen = map[ast.Node]bool{}
	}
	found := false
	ast.Walk(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Ident:
			found = found || r.Ident(x)
		case *ast.StructLit:
			if !r.FieldsOf {
				found = found || r.embeddings(x)
				return false
			}
		case *ast.UnaryExpr:
			switch x.Op {
			case token.LSS, token.LEQ, token.GTR, token.GEQ, token.NEQ, token.MAT, token.NMAT:
				return !found && r.Bounds
			}
		}
		return !found
	}, nil)
	return found
}

// embeddings reports whether what a struct literal embeds contains a reference.
func (r References) embeddings(lit *ast.StructLit) bool {
	for _, d := range lit.Elts {
		if e, ok := d.(*ast.EmbedDecl); ok && r.in(e.Expr) {
			return true
		}
	}
	return false
}

// Ident reports whether id stands for a field of the instance: for a regular
// field that isn't at the top level of its file. Definitions, hidden fields, lets
// and the variables of comprehensions are followed to their own expressions. self
// and __self refer to the struct around them, so they count as fields.
func (r References) Ident(id *ast.Ident) bool {
	if id.Node == nil {
		return id.Name == "self" || id.Name == "__self"
	}
	if r.within != nil && Contains(r.within, id.Node) {
		return false
	}
	switch scope := id.Scope.(type) {
	case nil, *ast.File:
		// An import, or a name of the package.
		return false
	case *ast.ForClause:
		return r.follow(scope.Source)
	}
	switch x := id.Node.(type) {
	case *ast.LetClause:
		return r.follow(x.Expr)
	case *ast.ImportSpec:
		return false
	}
	// An instance can't set these, but their expressions may refer to fields that
	// it can.
	if IsHidden(id.Name) {
		return r.Parameters[id.Name] || r.follow(id.Node)
	}
	return true
}

// IsHidden reports whether name is that of a definition or a hidden field, which
// are no fields of an instance.
func IsHidden(name string) bool {
	return strings.HasPrefix(name, "#") || strings.HasPrefix(name, "_")
}

// HiddenOperands returns the names of the definitions and hidden fields that
// something in the nodes computes with: in conditions, bounds, operations, calls,
// indices and interpolations. They need a value there. For {x: #a & >=#b} it is #b.
func HiddenOperands(nodes []ast.Node) map[string]bool {
	out := map[string]bool{}
	for _, n := range nodes {
		Walk(n, false, func(n ast.Node, operand bool) (bool, bool) {
			switch x := n.(type) {
			case *ast.Ident:
				if operand && IsHidden(x.Name) {
					out[x.Name] = true
				}
			case *ast.BinaryExpr:
				operand = operand || x.Op != token.AND && x.Op != token.OR
			case *ast.UnaryExpr:
				operand = operand || x.Op != token.MUL
			case *ast.CallExpr:
				name, _ := CalleeName(x)
				operand = operand || name != "close" && name != "matchN" && name != "matchIf"
			case *ast.IfClause, *ast.ForClause, *ast.IndexExpr, *ast.Interpolation:
				operand = true
			case *ast.StructLit:
				operand = false
			}
			return operand, true
		})
	}
	return out
}

// NamesDefinition reports whether e is a reference to a definition, to a part of
// one, or to a field that refers to one.
func NamesDefinition(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.Ident:
		if strings.HasPrefix(x.Name, "#") || strings.HasPrefix(x.Name, "_#") {
			return true
		}
		if x.Node == nil {
			return false
		}
		to := Expression(x.Node)
		_, refers := to.(*ast.Ident)
		_, selects := to.(*ast.SelectorExpr)
		return (refers || selects) && to != e && NamesDefinition(to)
	case *ast.SelectorExpr:
		name, _ := StaticName(x.Sel)
		return strings.HasPrefix(name, "#") || NamesDefinition(x.X)
	}
	return false
}

// MayBeAbsent reports whether e, apart from the fields of struct literals in it,
// reads a field that is optional. A field that the syntax doesn't show may be
// optional.
func MayBeAbsent(e ast.Expr) bool {
	absent := false
	ast.Walk(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.StructLit:
			return false
		case *ast.Ident, *ast.SelectorExpr:
			if f, ok := declared(x.(ast.Expr)); ok {
				absent = absent || f == nil || f.Constraint == token.OPTION
			}
			if s, ok := x.(*ast.SelectorExpr); ok {
				absent = absent || MayBeAbsent(s.X)
				return false
			}
		}
		return !absent
	}, nil)
	return absent
}

// declared returns the declaration of the field of the instance that e names, or
// nil if it isn't found. It reports false if e names no field.
func declared(e ast.Expr) (*ast.Field, bool) {
	switch x := e.(type) {
	case *ast.Ident:
		lit, ok := x.Scope.(*ast.StructLit)
		if _, isLet := x.Node.(*ast.LetClause); !ok || isLet || x.Node == nil || IsHidden(x.Name) {
			return nil, false
		}
		for _, d := range lit.Elts {
			if f, ok := d.(*ast.Field); ok && (x.Node == f || x.Node == f.Value) {
				return f, true
			}
		}
		return nil, true
	case *ast.SelectorExpr:
		of, ok := declared(x.X)
		if !ok || of == nil {
			return nil, ok
		}
		name, ok := StaticName(x.Sel)
		value := Expression(of.Value)
		for range 10 { // aliases of definitions
			id, ok := value.(*ast.Ident)
			if !ok {
				break
			}
			value = Expression(id.Node)
		}
		if lit, isLit := value.(*ast.StructLit); ok && isLit {
			for _, d := range lit.Elts {
				if f, isField := d.(*ast.Field); isField {
					if n, _ := StaticName(f.Label); n == name {
						return f, true
					}
				}
			}
		}
		return nil, true
	}
	return nil, false
}

// follow looks into n once. The second time it reports false: if the first visit
// finds a reference, the search ends anyway.
func (r References) follow(n ast.Node) bool {
	if r.Seen[n] {
		return false
	}
	r.Seen[n] = true
	return r.in(n)
}

// IsNil reports whether n is nil or a typed nil of the one type that callers
// pass so.
func IsNil(n ast.Node) bool {
	switch x := n.(type) {
	case nil:
		return true
	case *ast.ListLit:
		return x == nil
	}
	return false
}

// Span is a part of a file, as byte offsets.
type Span struct {
	// file is the name of the file as in positions.
	file string
	// End is exclusive.
	start, end int
}

// SpanOf returns the part of the file that n takes up.
func SpanOf(n ast.Node) Span {
	return Span{file: n.Pos().Filename(), start: n.Pos().Offset(), end: n.End().Offset()}
}

// Contains reports whether inner begins inside of outer.
func Contains(outer, inner ast.Node) bool {
	return SpanOf(outer).Contains(inner.Pos())
}

// Contains reports whether p is in s.
func (s Span) Contains(p token.Pos) bool {
	return p.IsValid() && p.Filename() == s.file && s.start <= p.Offset() && p.Offset() < s.end
}

// Key identifies a literal by its position. It is empty if n has none.
func Key(n ast.Node) string {
	if IsNil(n) || !n.Pos().IsValid() {
		return ""
	}
	p := n.Pos()
	return p.Filename() + ":" + strconv.Itoa(p.Offset())
}
