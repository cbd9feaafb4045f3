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

// CEL's own messages span several lines, use the internal names of operators, and
// list every token that the grammar would accept. The functions in this file rewrite
// each to one line with a column.

// syntaxIssue returns the problem of an expression that does not parse.
func (s *NodeSet) syntaxIssue(expr string, issues *cel.Issues) problem.List {
	issue := firstSyntaxIssue(expr, issues)
	if hint := s.bareHint(expr); hint != "" {
		issue.Hint = hint
	}
	return problem.List{issue}
}

// firstSyntaxIssue returns the problem of the first syntax error. Later errors are
// usually consequences of the first.
func firstSyntaxIssue(expr string, issues *cel.Issues) problem.Problem {
	first := issues.Errors()[0]
	// CEL does not sort the errors by position.
	for _, e := range issues.Errors()[1:] {
		if l := e.Location; l.Line() < first.Location.Line() ||
			l.Line() == first.Location.Line() && l.Column() < first.Location.Column() {
			first = e
		}
	}
	return problem.Problem{Message: location(expr, first) + syntaxMessage(expr, first)}
}

// syntaxMessage rewrites the parser's messages about unexpected and missing
// tokens, which ANTLR ends with a list of all acceptable tokens. It returns other
// messages as they are, in one line. For the expression "a +" the parser's
// message is "mismatched input '<EOF>' expecting {'[', '{', '(', ...}", and
// syntaxMessage returns "syntax error: unexpected end".
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

// checkIssues returns the problems that the type checker found in a late reference.
func (s *NodeSet) checkIssues(expr string, issues *cel.Issues, tree *ast.AST) problem.List {
	var found problem.List
	hint, variables := s.bareHint(expr), identifiers(tree)
	for _, e := range issues.Errors() {
		name, undeclared := undeclaredName(e.Message)
		// CEL has one message for undeclared variables and functions. Only the
		// kind of the subexpression distinguishes them.
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

// readyIssues returns the problems that the type checker found in a readiness
// expression.
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

// checkIssue rewrites one message of the type checker.
func checkIssue(expr string, e *cel.Error) problem.Problem {
	if name, undeclared := undeclaredName(e.Message); undeclared {
		return problem.Problem{Message: location(expr, e) + "no function " + quote(name)}
	}
	message := e.Message
	// CEL's internal name of an operator, such as _+_, is replaced with the
	// operator.
	if m := regexp.MustCompile(`^(found no matching overload for )'(.*)'( applied to '.*')$`).FindStringSubmatch(message); m != nil {
		if operator, ok := operators.FindReverse(m[2]); ok && operator != "" {
			m[2] = operator
		}
		message = m[1] + "'" + m[2] + "'" + m[3]
	}
	return problem.Problem{Message: location(expr, e) + strings.Join(strings.Fields(message), " ")}
}

// identifiers returns the ids of the subexpressions that are identifiers.
func identifiers(tree *ast.AST) map[int64]bool {
	found := map[int64]bool{}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			found[e.ID()] = true
		}
	}))
	return found
}

// undeclaredName returns the name in CEL's message about an undeclared reference, and
// false for other messages.
func undeclaredName(message string) (string, bool) {
	rest, ok := strings.CutPrefix(message, "undeclared reference to '")
	if !ok {
		return "", false
	}
	name, _, _ := strings.Cut(rest, "'")
	return strings.TrimPrefix(name, "."), true
}

// location returns the location of an error as a prefix for its message, counted
// from 1, or "" if CEL does not know it. The line is only given for expressions of
// several lines.
func location(expr string, e *cel.Error) string {
	line, column := e.Location.Line(), e.Location.Column()+1
	switch {
	case line < 1:
		return ""
	case strings.Contains(strings.TrimRight(expr, "\n"), "\n"):
		return fmt.Sprintf("line %d, column %d: ", line, column)
	}
	return fmt.Sprintf("column %d: ", column)
}

// quote returns s in double quotes, with escapes, for messages and hints.
func quote(s string) string { return strconv.Quote(s) }

// article puts the indefinite article before a noun.
func article(noun string) string {
	if strings.ContainsAny(noun[:1], "aeiou") {
		return "an " + noun
	}
	return "a " + noun
}
