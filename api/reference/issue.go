package reference

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// CEL's own messages span lines, name operators by their internal names and
// list every token the grammar would have taken. What follows makes one line
// of each, with its column.

func (s *Scope) syntaxIssue(expr string, issues *cel.Issues) problem.List {
	issue := firstSyntaxIssue(expr, issues)
	if hint := s.bareHint(expr); hint != "" {
		issue.Hint = hint
	}
	return problem.List{issue}
}

// firstSyntaxIssue is the only one that counts: the others are what the parser
// stumbles over on its way back.
func firstSyntaxIssue(expr string, issues *cel.Issues) problem.Problem {
	first := issues.Errors()[0]
	for _, e := range issues.Errors()[1:] {
		if l := e.Location; l.Line() < first.Location.Line() ||
			l.Line() == first.Location.Line() && l.Column() < first.Location.Column() {
			first = e
		}
	}
	return problem.Problem{Message: place(expr, first) + syntaxMessage(expr, first)}
}

// syntaxMessage words the messages of the parser that are worth it: those
// about a token, which ANTLR follows by all the tokens it would have taken.
func syntaxMessage(expr string, e *cel.Error) string {
	message := strings.TrimPrefix(e.Message, "Syntax error: ")
	if word, ok := strings.CutPrefix(message, "reserved identifier: "); ok {
		return quote(word) + " is a reserved word"
	}
	if m := regexp.MustCompile(`^missing '(.*?)' at`).FindStringSubmatch(message); m != nil {
		return "syntax error: missing " + quote(m[1])
	}
	lines := strings.Split(expr, "\n")
	if line := e.Location.Line(); line == len(lines) && e.Location.Column() >= len([]rune(lines[line-1])) {
		return "syntax error: unexpected end"
	}
	if m := regexp.MustCompile(`(?s)(?:input|error at:) '(.*?)'(?: expecting .*)?$`).FindStringSubmatch(message); m != nil {
		return "syntax error: unexpected " + quote(m[1])
	}
	return strings.Join(strings.Fields(message), " ")
}

// checkIssues words what the type checker found in a late reference.
func (s *Scope) checkIssues(expr string, issues *cel.Issues, tree *ast.AST) problem.List {
	var found problem.List
	hint, variables := s.bareHint(expr), identifiers(tree)
	for _, e := range issues.Errors() {
		name, undeclared := undeclaredName(e.Message)
		variable := undeclared && variables[e.ExprID]
		switch {
		case variable && hint != "":
			found = append(found, problem.Problem{Message: "no node " + quote(name), Hint: hint})
		case variable:
			found = append(found, s.unknownNode(name))
		default:
			issue := checkIssue(expr, e)
			if hint != "" {
				issue.Hint = hint
			}
			found = append(found, issue)
		}
	}
	return found
}

// readyIssues words what the type checker found in a readiness expression.
func readyIssues(expr string, issues *cel.Issues, tree *ast.AST) problem.List {
	var found problem.List
	variables := identifiers(tree)
	for _, e := range issues.Errors() {
		name, undeclared := undeclaredName(e.Message)
		if undeclared && variables[e.ExprID] {
			hint := source.Hint(name, []string{objectVariable})
			if hint == "" {
				hint = "a readiness expression reads object, the live object, and nothing else"
			}
			found = append(found, problem.Problem{Message: "no variable " + quote(name), Hint: hint})
			continue
		}
		found = append(found, checkIssue(expr, e))
	}
	return found
}

func checkIssue(expr string, e *cel.Error) problem.Problem {
	if name, undeclared := undeclaredName(e.Message); undeclared {
		return problem.Problem{Message: place(expr, e) + "no function " + quote(name)}
	}
	message := e.Message
	if m := regexp.MustCompile(`^(found no matching overload for )'(.*)'( applied to '.*')$`).FindStringSubmatch(message); m != nil {
		if operator, ok := operators.FindReverse(m[2]); ok && operator != "" {
			m[2] = operator
		}
		message = m[1] + "'" + m[2] + "'" + m[3]
	}
	return problem.Problem{Message: place(expr, e) + strings.Join(strings.Fields(message), " ")}
}

// identifiers returns the ids of the expressions that are identifiers.
func identifiers(tree *ast.AST) map[int64]bool {
	found := map[int64]bool{}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			found[e.ID()] = true
		}
	}))
	return found
}

func undeclaredName(message string) (string, bool) {
	rest, ok := strings.CutPrefix(message, "undeclared reference to '")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "'")
	return strings.TrimPrefix(name, "."), true
}

// place says where in the expression a message belongs, counted from 1, or
// returns "" if CEL doesn't know.
func place(expr string, e *cel.Error) string {
	line, column := e.Location.Line(), e.Location.Column()+1
	switch {
	case line < 1:
		return ""
	case strings.Contains(strings.TrimRight(expr, "\n"), "\n"):
		return fmt.Sprintf("line %d, column %d: ", line, column)
	}
	return fmt.Sprintf("column %d: ", column)
}

func quote(s string) string { return strconv.Quote(s) }

func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}
