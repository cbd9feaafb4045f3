package vet

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// isViolations reports whether a label is violations, the list of refusals in the
// output of #Render and of #Policy.
func isViolations(l ast.Label) bool {
	name, _ := labelName(l)
	return name == "violations"
}

// nodeText formats syntax in one line, with runs of white space reduced to one
// space. Syntax that cannot be formatted is printed in Go's default form.
func nodeText(n ast.Node) string {
	b, err := format.Node(n)
	if err != nil {
		return fmt.Sprint(n)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// exprText formats syntax in one line of limited length, for messages.
func exprText(n ast.Node) string {
	// Longer expressions would hide the message around them. The unit is
	// characters.
	const most = 120
	if r := []rune(nodeText(n)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return nodeText(n)
}

// labelName returns the name of a label, and false for a computed label. For an
// aliased label, as in X=name, it returns the name without the alias.
func labelName(l ast.Label) (string, bool) {
	if a, ok := l.(*ast.Alias); ok {
		inner, ok := a.Expr.(ast.Label)
		if !ok {
			return "", false
		}
		l = inner
	}
	name, _, err := ast.LabelName(l)
	return name, err == nil
}

// stringOf returns the value of a string literal, and false for any other
// expression. A string with interpolations is not a literal.
func stringOf(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := literal.Unquote(l.Value)
	return s, err == nil
}
