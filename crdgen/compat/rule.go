package compat

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/parser"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// absence tells which fields no old object has.
type absence func(field string) bool

// demanded reports whether every object that satisfies the old rules satisfies
// the new rule r. A false result is no proof that one doesn't. Rules are compared
// in a normal form, in which has(self.f) is false for an absent field. Each
// conjunct of r must be true there, or weaker than a conjunct of an old rule.
func demanded(old apiextensionsv1.ValidationRules, r apiextensionsv1.ValidationRule, absent absence) bool {
	for _, o := range old {
		if o.Rule == r.Rule && equal(o.OptionalOldSelf, r.OptionalOldSelf) {
			return true
		}
	}
	demand, ok := normalRule(r.Rule, absent)
	if !ok {
		return false
	}
	var had []normal
	for _, o := range old {
		// A transition rule demands nothing of an object that is created.
		if transition(o.Rule) && (!transition(r.Rule) || !equal(o.OptionalOldSelf, r.OptionalOldSelf)) {
			continue
		}
		if n, ok := normalRule(o.Rule, absent); ok {
			had = append(had, n.operands(operators.LogicalAnd)...)
		}
	}
	return !slices.ContainsFunc(demand.operands(operators.LogicalAnd), func(d normal) bool {
		return d.text != "true" && !slices.ContainsFunc(had, d.weakerThan)
	})
}

// transition reports whether a rule reads the object before the update.
func transition(rule string) bool { return mentions(rule, "oldSelf", false) }

// ruleParser parses CEL as the API server does. It is created on first use,
// because most definitions keep their rules.
var ruleParser = sync.OnceValues(func() (*parser.Parser, error) {
	return parser.NewParser(parser.Macros(parser.AllMacros...), parser.EnableOptionalSyntax(true))
})

// normal is a CEL expression in a form in which equal expressions have equal
// texts. op is the logical operator that joins args, or empty.
type normal struct {
	text, op string
	args     []normal
}

// operands returns the operands of op, which may be nested. Without op it returns
// n itself.
func (n normal) operands(op string) []normal {
	if n.op != op {
		return []normal{n}
	}
	var all []normal
	for _, a := range n.args {
		all = append(all, a.operands(op)...)
	}
	return all
}

// weakerThan reports whether n has every alternative of o: A || B is weaker than
// A. CEL evaluates A || B to true also if B is an error.
func (n normal) weakerThan(o normal) bool {
	mine := n.operands(operators.LogicalOr)
	return !slices.ContainsFunc(o.operands(operators.LogicalOr), func(a normal) bool {
		return !slices.ContainsFunc(mine, func(b normal) bool { return a.text == b.text })
	})
}

// normalRule returns the normal form of a rule, and false for a text that isn't
// CEL.
func normalRule(rule string, absent absence) (normal, bool) {
	p, err := ruleParser()
	if err != nil {
		return normal{}, false
	}
	parsed, errs := p.Parse(common.NewTextSource(rule))
	if len(errs.GetErrors()) > 0 {
		return normal{}, false
	}
	return absent.normal(parsed.Expr()), true
}

// normal returns the normal form of e.
func (a absence) normal(e ast.Expr) normal {
	plain := func(format string, args ...any) normal { return normal{text: fmt.Sprintf(format, args...)} }
	list := func(es []ast.Expr) string {
		var texts []string
		for _, e := range es {
			texts = append(texts, a.normal(e).text)
		}
		return strings.Join(texts, ", ")
	}
	switch e.Kind() {
	case ast.IdentKind:
		return plain("%s", e.AsIdent())
	case ast.LiteralKind:
		if b, ok := e.AsLiteral().Value().(bool); ok {
			return plain("%t", b)
		}
		return plain("%T(%#v)", e.AsLiteral().Value(), e.AsLiteral().Value())
	case ast.SelectKind:
		s := e.AsSelect()
		if !s.IsTestOnly() {
			return plain("%s.%s", a.normal(s.Operand()).text, s.FieldName())
		}
		if s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == "self" && a(s.FieldName()) {
			return plain("false")
		}
		return plain("has(%s.%s)", a.normal(s.Operand()).text, s.FieldName())
	case ast.CallKind:
		call := e.AsCall()
		if call.IsMemberFunction() {
			return plain("%s.%s(%s)", a.normal(call.Target()).text, call.FunctionName(), list(call.Args()))
		}
		return a.call(call)
	case ast.ListKind:
		return plain("[%s]%v", list(e.AsList().Elements()), e.AsList().OptionalIndices())
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		if c.IterVar() == "self" || c.IterVar2() == "self" {
			a = func(string) bool { return false }
		}
		return plain("fold(%s: %s %s %s: %s)", list([]ast.Expr{c.IterRange()}), c.IterVar(), c.IterVar2(), c.AccuVar(),
			list([]ast.Expr{c.AccuInit(), c.LoopCondition(), c.LoopStep(), c.Result()}))
	}
	// Maps and messages are rare in rules, and equal only to themselves.
	return plain("expression at %p", e)
}

// call returns the normal form of a call of a function or an operator. The parts
// that don't matter are left out: with a false operand, for example, && is false
// whatever the other one is, even an error.
func (a absence) call(call ast.CallExpr) normal {
	var args []normal
	var texts []string
	for _, arg := range call.Args() {
		n := a.normal(arg)
		args, texts = append(args, n), append(texts, n.text)
	}
	op := call.FunctionName()
	switch op {
	case operators.LogicalNot:
		switch texts[0] {
		case "true":
			return normal{text: "false"}
		case "false":
			return normal{text: "true"}
		}
	case operators.LogicalAnd, operators.LogicalOr:
		neutral, decisive := "true", "false"
		if op == operators.LogicalOr {
			neutral, decisive = decisive, neutral
		}
		if slices.Contains(texts, decisive) {
			return normal{text: decisive}
		}
		if i := slices.Index(texts, neutral); i >= 0 {
			return args[1-i]
		}
		return normal{text: op + "(" + strings.Join(texts, ", ") + ")", op: op, args: args}
	case operators.Conditional:
		switch texts[0] {
		case "true":
			return args[1]
		case "false":
			return args[2]
		}
	case operators.Add:
		// A term of a sum that counts fields.
		if i := slices.Index(texts, "int64(0)"); i >= 0 {
			return args[1-i]
		}
	}
	return normal{text: op + "(" + strings.Join(texts, ", ") + ")"}
}
