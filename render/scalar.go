package render

import (
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// scalar reports a plain value that the schema doesn't take.
func (d *diagnosis) scalar(schema cue.Value, e ast.Expr, path string) {
	var fit, plain []cue.Value
	var others cue.Kind
	alts := alternatives(schema)
	for _, a := range alts {
		switch k := kindsOf(a); {
		case isLiteral(a):
			plain = append(plain, a)
		case k&kindOf(e) != 0:
			fit = append(fit, a)
		default:
			others |= k
		}
	}
	switch {
	case len(fit) == 0 && len(plain) > 0:
		d.oneOf(schema, plain, others, e, path)
	case len(alts) > 1 && len(fit)+len(plain) > 1:
		words := literals(plain)
		for _, a := range fit {
			words = append(words, boundText(a))
		}
		d.add(path, problem.RuleConstraint, d.rulePos(schema), show(e)+" is not "+orList(words), "")
	default:
		// Plain values, other than structs, may be unified with evaluated ones.
		d.constraint(schema.Unify(d.built.ctx.BuildExpr(e)), e, path, schema)
	}
}

// mistyped reports a value of the wrong type.
func (d *diagnosis) mistyped(schema cue.Value, want cue.Kind, e ast.Expr, path string) {
	alts := alternatives(schema)
	if plain := filter(alts, isLiteral); len(plain) == len(alts) && isScalar(e) {
		d.oneOf(schema, plain, 0, e, path)
		return
	}
	hint, wanted := "", kindWords(want)
	s, isText := cuesyntax.Text(e)
	switch {
	case isInt(e) && want&cue.NumberKind == cue.FloatKind:
		wanted, hint = strings.Replace(wanted, "a number", "a float", 1), "write "+written(e)+".0"
	case isText && want&cue.NumberKind != 0 && cuesyntax.Number(s) != nil,
		isText && want&cue.BoolKind != 0 && (s == "true" || s == "false"):
		hint = "write it without quotes"
	case !isText && want&cue.StringKind != 0 && isScalar(e):
		hint = fmt.Sprintf("write %q", written(e))
	}
	d.add(path, problem.RuleType, d.rulePos(schema), fmt.Sprintf("must be %s, not %s", wanted, typeWords(e)), hint)
}

func isInt(e ast.Expr) bool {
	x, ok := e.(*ast.BasicLit)
	return ok && x.Kind == token.INT
}

// oneOf reports a value that an enumeration lacks; kinds are what else the
// schema takes.
func (d *diagnosis) oneOf(schema cue.Value, plain []cue.Value, kinds cue.Kind, e ast.Expr, path string) {
	values := literals(plain)
	hint := ""
	if s, ok := cuesyntax.Text(e); ok {
		var words []string
		for _, l := range plain {
			if w, err := l.String(); err == nil {
				words = append(words, w)
			} else if fmt.Sprint(l) == s {
				hint = "write it without quotes"
			}
		}
		if near := nearestWord(s, words); near != "" && len(values) > 1 {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
	} else if slices.Contains(values, fmt.Sprintf("%q", show(e))) {
		hint = fmt.Sprintf("write %q", show(e))
	}
	message := show(e) + " is not one of " + strings.Join(values, ", ")
	if len(values) == 1 {
		message = show(e) + " is not " + values[0]
	}
	if kinds != 0 {
		message += " or " + kindWords(kinds)
	}
	d.add(path, problem.RuleEnum, d.rulePos(schema), message, hint)
}

// nearestWord is like nearest.Name, and takes another case for the same word.
func nearestWord(s string, words []string) string {
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return w
		}
	}
	return source.Nearest(s, words)
}

// isLiteral says whether a schema is one plain value.
func isLiteral(v cue.Value) bool {
	return v.IsConcrete() && v.IncompleteKind()&(cue.StructKind|cue.ListKind) == 0
}

// literals gives those alternatives that are plain values, each once.
func literals(alts []cue.Value) []string {
	var values []string
	for _, a := range alts {
		if s := fmt.Sprint(a); isLiteral(a) && !slices.Contains(values, s) {
			values = append(values, s)
		}
	}
	return values
}

// equals says whether a plain value is the one that the data has.
func equals(literal cue.Value, e ast.Expr) bool {
	if s, ok := cuesyntax.Text(e); ok {
		l, err := literal.String()
		return err == nil && l == s
	}
	return isScalar(e) && fmt.Sprint(literal) == show(e)
}

// literalOf is a plain value as syntax.
func literalOf(v cue.Value) ast.Expr {
	if s, err := v.String(); err == nil {
		return ast.NewString(s)
	}
	e, _ := v.Syntax(cue.Final()).(ast.Expr)
	return e
}

// kindOf is the kind of a value of the instance.
func kindOf(e ast.Expr) cue.Kind {
	switch x := e.(type) {
	case *ast.StructLit:
		return cue.StructKind
	case *ast.ListLit:
		return cue.ListKind
	case *ast.BasicLit:
		switch x.Kind {
		case token.STRING:
			return cue.StringKind
		case token.INT:
			return cue.IntKind
		case token.FLOAT:
			return cue.FloatKind
		case token.NULL:
			return cue.NullKind
		case token.TRUE, token.FALSE:
			return cue.BoolKind
		}
	}
	return cue.TopKind
}

// kindsOf gives the kinds that a schema takes. That of a list with a rule about
// its length is unknown to CUE as long as there is no list.
func kindsOf(v cue.Value) cue.Kind {
	if k := v.IncompleteKind(); k != cue.BottomKind {
		return k
	}
	op, args := v.Expr()
	switch {
	case op == cue.AndOp:
		k := cue.TopKind
		for _, a := range args {
			if part := kindsOf(a); part != cue.BottomKind {
				k &= part
			}
		}
		return k
	case op == cue.OrOp:
		var k cue.Kind
		for _, a := range args {
			k |= kindsOf(a)
		}
		return k
	case op == cue.NoOp && len(args) == 1 && args[0] != v:
		if op, _ := args[0].Expr(); op == cue.AndOp || op == cue.OrOp {
			return kindsOf(args[0])
		}
	}
	return cue.BottomKind
}

func isScalar(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind != token.NULL
}

// boundText writes an alternative without what is clear: the type that the value
// has.
func boundText(v cue.Value) string {
	op, args := v.Eval().Expr()
	if op != cue.AndOp {
		return fmt.Sprint(v)
	}
	var parts []string
	for _, a := range args {
		if s := fmt.Sprint(a); s != a.IncompleteKind().String() {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return fmt.Sprint(v)
	}
	return strings.Join(parts, " and ")
}
