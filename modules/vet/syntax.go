package vet

import (
	"fmt"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"
)

func isViolations(l ast.Label) bool {
	name, _ := labelName(l)
	return name == "violations"
}

// nodeText is syntax in one line.
func nodeText(n ast.Node) string {
	b, err := format.Node(n)
	if err != nil {
		return fmt.Sprint(n)
	}
	return strings.Join(strings.Fields(string(b)), " ")
}

// exprText is syntax in one line that isn't too long.
func exprText(n ast.Node) string {
	const most = 120
	if r := []rune(nodeText(n)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return nodeText(n)
}

// labelName gives a label that is written out.
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

func stringOf(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := literal.Unquote(l.Value)
	return s, err == nil
}
