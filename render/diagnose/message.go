package diagnose

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cueerror"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
)

// maxText is the number of characters of a user's value that a message repeats.
const maxText = 80

// quoteValue returns a value of the instance for a message: a scalar as CUE
// writes it, and a word for anything else. Long strings are cut to maxText.
func quoteValue(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		if s, ok := cuesyntax.Text(x); ok {
			return source.Clip(strconv.Quote(s), maxText)
		}
		return x.Value
	case *ast.StructLit:
		return "the mapping"
	case *ast.ListLit:
		return "the list"
	}
	return "the value"
}

// originalText returns a scalar as the user wrote it. A number may have
// another form in the instance: the version 1.10 is the number 1.1, and
// package yamlfile keeps the spelling as a comment.
func originalText(e ast.Expr) string {
	for _, group := range ast.Comments(e) {
		for _, c := range group.List {
			return strings.TrimPrefix(c.Text, "//")
		}
	}
	return quoteValue(e)
}

// kindWords returns kinds in the terms of YAML, joined by "or".
func kindWords(k cue.Kind) string {
	var words []string
	for _, w := range []struct {
		kind cue.Kind
		word string
	}{
		{cue.NumberKind, "a number"}, {cue.IntKind, "an integer"}, {cue.FloatKind, "a number"}, {cue.StringKind, "a string"}, {cue.BytesKind, "bytes"},
		{cue.BoolKind, "true or false"}, {cue.StructKind, "a mapping"}, {cue.ListKind, "a list"}, {cue.NullKind, "null"},
	} {
		if k&w.kind == w.kind {
			words = append(words, w.word)
			k &^= w.kind
		}
	}
	return strings.Join(words, " or ")
}

// typeWords describes a value of the instance by its type.
func typeWords(e ast.Expr) string {
	switch k := dataKind(e); k {
	case cue.StructKind, cue.ListKind, cue.NullKind:
		return kindWords(k)
	case cue.StringKind:
		return "the string " + quoteValue(e)
	case cue.TopKind:
		return "this"
	}
	return quoteValue(e)
}

// errorMessage returns the message and the rule for an error of CUE about a
// value. CUE has no error types, so the format strings of its messages tell
// errors apart. An unknown format keeps CUE's own message, so a new version of
// CUE makes messages worse and not wrong.
func errorMessage(err cueerrors.Error, value ast.Expr) (text, rule string) {
	format, args := err.Msg()
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = fmt.Sprint(a)
	}
	switch {
	case strings.HasPrefix(format, outOfBoundFormat):
		return outOfBound(words[0], words[1]), problem.RuleConstraint
	case strings.HasPrefix(format, "invalid value %s (does not satisfy %s"):
		return unsatisfied(words[0], words[1], value, errors.Unwrap(err)), problem.RuleConstraint
		// CUE does not say which side is the value. It is the one that the instance
		// has.
	case strings.HasPrefix(format, "conflicting values %s and %s") && len(words) >= 2:
		if s, ok := value.(*ast.BasicLit); ok && words[0] == quoteValue(s) {
			words[0], words[1] = words[1], words[0]
		}
		return source.Clip(words[1], maxText) + " is not " + source.Clip(words[0], maxText), problem.RuleConstraint
	case strings.HasPrefix(format, "incompatible") && strings.Contains(format, "bounds"):
		return quoteValue(value) + " is not " + strings.Join(words, " and "), problem.RuleConstraint
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

// outOfBound words an error about a bound, such as >=1 or =~"^a".
func outOfBound(value, bound string) string {
	value = source.Clip(value, maxText)
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
	// call matches a validator with a number, such as list.MinItems(1).
	call = lazyregexp.New(`^(\w+\.\w+)\((\d+)\)$`)
	// matched matches the cause of an error of matchN.
	matched = lazyregexp.New(`(\d+) matched, expected (.*)$`)
)

// outOfBoundFormat begins the format of the message about a bound. Its arguments
// are the value and the bound.
const outOfBoundFormat = "invalid value %v (out of bound %s"

// explicitError begins the message for a bottom value that a module states,
// _|_.
const explicitError = "explicit error"

// notUnique is the message for list.UniqueItems. problemOf replaces it if it finds
// the repeated item.
const notUnique = "items must be unique"

// unsatisfied words an error of a validator of CUE's standard library: validators
// of size in the terms of YAML, others by their name. cause is the validator's
// own error, or nil.
//
//	list.MaxItems(3)    must have at most 3 items, not 5
//	list.UniqueItems    items must be unique
//	net.IPv4            "1.2.3" does not satisfy net.IPv4
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
	if m := call().FindStringSubmatch(validator); m != nil {
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
		value = source.Clip(value, maxText)
	}
	if cause != nil {
		if m := matched().FindStringSubmatch(cause.Error()); m != nil && strings.HasPrefix(validator, "matchN") {
			return fmt.Sprintf("%s fits %s of the rule's alternatives, not %s", value, m[1], m[2])
		}
	}
	return value + " does not satisfy " + validator
}

// orList joins words with commas and "or".
func orList(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " or " + words[n-1]
	}
	return strings.Join(words, "")
}
