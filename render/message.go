package render

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// show writes a value of the instance the way a message can carry it.
func show(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		if s, ok := cuesyntax.Text(x); ok {
			return clip(strconv.Quote(s))
		}
		return x.Value
	case *ast.StructLit:
		return "the mapping"
	case *ast.ListLit:
		return "the list"
	}
	return "the value"
}

// written is a plain value as the user wrote it, which may not be the form that
// the instance has it in: the version 1.10 is the number 1.1.
func written(e ast.Expr) string {
	for _, group := range ast.Comments(e) {
		for _, c := range group.List {
			return strings.TrimPrefix(c.Text, "//")
		}
	}
	return show(e)
}

// clip keeps what a user wrote from filling the screen.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// kindWords names kinds in the terms of YAML.
func kindWords(k cue.Kind) string {
	var words []string
	add := func(kind cue.Kind, word string) {
		if k&kind == kind {
			words = append(words, word)
			k &^= kind
		}
	}
	add(cue.NumberKind, "a number")
	add(cue.IntKind, "an integer")
	add(cue.FloatKind, "a number")
	add(cue.StringKind, "a string")
	add(cue.BytesKind, "bytes")
	add(cue.BoolKind, "true or false")
	add(cue.StructKind, "a mapping")
	add(cue.ListKind, "a list")
	add(cue.NullKind, "null")
	return strings.Join(words, " or ")
}

// typeWords says what a value is.
func typeWords(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StructLit:
		return "a mapping"
	case *ast.ListLit:
		return "a list"
	case *ast.BasicLit:
		switch x.Kind {
		case token.STRING:
			return "the string " + show(x)
		case token.NULL:
			return "null"
		}
		return show(x)
	}
	return "this"
}

// message says in one line what CUE found wrong with a value, and of which kind
// of problem that is.
func message(err cueerrors.Error, value ast.Expr) (text, rule string) {
	format, args := err.Msg()
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = fmt.Sprint(a)
	}
	switch {
	case strings.HasPrefix(format, "invalid value %v (out of bound %s"):
		return outOfBound(words[0], words[1]), problem.RuleConstraint
	case strings.HasPrefix(format, "invalid value %s (does not satisfy %s"):
		return unsatisfied(words[0], words[1], value, errors.Unwrap(err)), problem.RuleConstraint
	case strings.HasPrefix(format, "conflicting values %s and %s") && len(words) >= 2:
		if s, ok := value.(*ast.BasicLit); ok && words[0] == show(s) {
			words[0], words[1] = words[1], words[0]
		}
		return clip(words[1]) + " is not " + clip(words[0]), problem.RuleConstraint
	case strings.HasPrefix(format, "incompatible") && strings.Contains(format, "bounds"):
		return show(value) + " is not " + strings.Join(words, " and "), problem.RuleConstraint
	case strings.HasPrefix(format, explicitError):
		return "is not allowed here", problem.RuleConstraint
	case format == "field not allowed":
		return "unknown field", problem.RuleUnknown
	case strings.HasPrefix(format, "incomplete value %"), strings.HasPrefix(format, "field is required but not present"):
		return "missing", problem.RuleRequired
	case strings.HasPrefix(format, "incompatible list lengths"):
		return "has the wrong number of items", problem.RuleConstraint
	case strings.Contains(format, "empty disjunction"):
		return "fits none of the alternatives", problem.RuleConstraint
	}
	return cueerror.Message(err), problem.RuleConstraint
}

func outOfBound(value, bound string) string {
	value = clip(value)
	switch {
	case bound == `!=""`:
		return "must not be empty"
	case strings.HasPrefix(bound, "!="):
		return value + " is not allowed"
	case strings.HasPrefix(bound, "=~"):
		return value + " does not match " + strings.TrimPrefix(bound, "=~")
	case strings.HasPrefix(bound, "!~"):
		return value + " must not match " + strings.TrimPrefix(bound, "!~")
	}
	return value + " is not " + bound
}

var (
	call    = regexp.MustCompile(`^(\w+\.\w+)\((\d+)\)$`)
	matched = regexp.MustCompile(`(\d+) matched, expected (.*)$`)
)

// explicitError is how CUE speaks of a bottom that somebody wrote.
const explicitError = "explicit error"

const notUnique = "items must be unique"

// unsatisfied words the validators of CUE's standard library that are about size
// in terms of YAML, and names the others.
func unsatisfied(value, validator string, e ast.Expr, cause error) string {
	var has int
	switch x := e.(type) {
	case *ast.StructLit:
		has = len(x.Elts)
	case *ast.ListLit:
		has = len(x.Elts)
	default:
		if s, ok := cuesyntax.Text(e); ok {
			has = len([]rune(s))
		}
	}
	if m := call.FindStringSubmatch(validator); m != nil {
		what := map[string]string{
			"list.MinItems": "at least item", "list.MaxItems": "at most item",
			"struct.MinFields": "at least field", "struct.MaxFields": "at most field",
			"strings.MinRunes": "at least character", "strings.MaxRunes": "at most character",
		}[m[1]]
		n, err := strconv.Atoi(m[2])
		if i := strings.LastIndex(what, " "); i > 0 && err == nil {
			return fmt.Sprintf("must have %s %s, not %d", what[:i], source.Count(n, what[i+1:]), has)
		}
	}
	switch e.(type) {
	case *ast.StructLit:
		value = "the mapping"
	case *ast.ListLit:
		value = "the list"
		if validator == "list.UniqueItems" {
			return notUnique
		}
	default:
		value = clip(value)
	}
	if cause != nil {
		if m := matched.FindStringSubmatch(cause.Error()); m != nil && strings.HasPrefix(validator, "matchN") {
			return fmt.Sprintf("%s fits %s of the rule's alternatives, not %s", value, m[1], m[2])
		}
	}
	return value + " does not satisfy " + validator
}

func orList(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}
