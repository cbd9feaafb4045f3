package render

import (
	"fmt"
	"strconv"
	"strings"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/ast"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/token"
)

// show writes a value of the instance the way a message can carry it.
func show(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		if s, ok := text(x); ok {
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

// clip keeps what a user wrote from filling the screen.
func clip(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// mistyped reports a value of the wrong type.
func (d *diagnosis) mistyped(want cue.Kind, schema cue.Value, e ast.Expr, path string) {
	hint := ""
	s, isText := text(e)
	switch {
	case isText && want&cue.NumberKind != 0 && number(s) != nil,
		isText && want&cue.BoolKind != 0 && (s == "true" || s == "false"):
		hint = "write it without quotes"
	case !isText && want&cue.StringKind != 0 && isScalar(e):
		hint = fmt.Sprintf("write %q", show(e))
	}
	d.add(path, RuleType, schema.Pos(), fmt.Sprintf("must be %s, not %s", kindWords(want), typeWords(e)), hint)
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

func isScalar(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind != token.NULL
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

// message says in one line what CUE found wrong with a value.
func message(e cueerrors.Error) string {
	format, args := e.Msg()
	switch {
	case strings.HasPrefix(format, "invalid value %v (out of bound %s"):
		return outOfBound(fmt.Sprint(args[0]), fmt.Sprint(args[1]))
	case strings.HasPrefix(format, "invalid value %s (does not satisfy %s"):
		return clip(fmt.Sprint(args[0])) + " does not satisfy " + fmt.Sprint(args[1])
	}
	return errMessage(e)
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

// leastNoisy leaves out what CUE says beside the cause: the summary over a
// disjunction, and conflicts where something else is wrong too.
func leastNoisy(errs []cueerrors.Error) []cueerrors.Error {
	var rest []cueerrors.Error
	for _, e := range errs {
		format, _ := e.Msg()
		if strings.Contains(format, "empty disjunction") || strings.HasPrefix(format, "conflicting values") {
			continue
		}
		rest = append(rest, e)
	}
	if len(rest) == 0 {
		return errs
	}
	return rest
}

// ruleOf is where the broken rule stands: the first position outside the
// instance.
func (d *diagnosis) ruleOf(e cueerrors.Error) token.Pos {
	for _, p := range cueerrors.Positions(e) {
		if d.rulePos(p).File != "" {
			return p
		}
	}
	return token.NoPos
}

func indexPath(i int) string { return "[" + strconv.Itoa(i) + "]" }

// isIndex tells a list index among the elements of an error's path.
func isIndex(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

func unquoteLabel(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// valuePos is where a value is shown to begin: a scalar where it stands, a
// struct or list at its label.
func valuePos(e ast.Expr, label token.Pos) token.Pos {
	if _, ok := e.(*ast.BasicLit); ok && e.Pos().IsValid() {
		return e.Pos()
	}
	return label
}
