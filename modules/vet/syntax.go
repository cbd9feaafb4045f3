package vet

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

// isViolations reports whether a label is violations.
func isViolations(l ast.Label) bool {
	name, _ := labelName(l)
	return name == "violations"
}

// nodeText formats syntax in one line.
func nodeText(n ast.Node) string {
	b, err := format.Node(n)
	if err != nil {
		return fmt.Sprint(n)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// exprText formats syntax in one line of limited length, for messages.
func exprText(n ast.Node) string {
	const most = 120
	if r := []rune(nodeText(n)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return nodeText(n)
}

// labelName returns the name of a label, and false for a computed label.
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

// stringOf returns the value of a string literal.
func stringOf(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := literal.Unquote(l.Value)
	return s, err == nil
}
