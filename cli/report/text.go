package report

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// The escape sequences of the colours that the text format uses.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
	reset  = "\x1b[0m"
)

// writeText prints a line per problem:
//
//	[FILE[:LINE[:COLUMN]]: ][INSTANCE: ][warning: |note: ][PATH: ]MESSAGE[; HINT][ (RULEAT)]
//
// The instance is named only where the line doesn't: with a line it would say
// the same thing twice.
func writeText(w *bufio.Writer, problems []Problem, color bool) error {
	for _, p := range problems {
		paint := func(code, text string) string {
			if !color || text == "" {
				return text
			}
			return code + text + reset
		}
		var line strings.Builder
		if at := place(p); at != "" {
			line.WriteString(paint(bold, at+":") + " ")
		}
		switch p.Severity {
		case Error:
		case Warning:
			line.WriteString(paint(yellow, "warning:") + " ")
		default:
			line.WriteString(paint(blue, string(p.Severity)+":") + " ")
		}
		path, message, hint, ruleAt := parts(p)
		if p.Severity == Error {
			message = paint(red, message)
		}
		line.WriteString(path + message + hint + paint(dim, ruleAt))
		if _, err := fmt.Fprintln(w, line.String()); err != nil {
			return err
		}
	}
	return nil
}

// place is the head of a problem's line: what the problem is in.
func place(p Problem) string {
	at := p.File
	if p.Line > 0 {
		at += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			at += ":" + strconv.Itoa(p.Column)
		}
	} else if p.Instance != "" {
		if at != "" {
			at += ": "
		}
		at += p.Instance
	}
	return oneLine(at)
}

// sentence is a problem without its place and severity, on one line.
func sentence(p Problem) string {
	path, message, hint, ruleAt := parts(p)
	return path + message + hint + ruleAt
}

func parts(p Problem) (path, message, hint, ruleAt string) {
	if p.Path != "" {
		path = oneLine(p.Path) + ": "
	}
	if p.Hint != "" {
		hint = "; " + oneLine(p.Hint)
	}
	if p.RuleAt != "" {
		ruleAt = " (" + oneLine(p.RuleAt) + ")"
	}
	return path, oneLine(p.Message), hint, ruleAt
}

// oneLine is text that can't break its line.
func oneLine(s string) string { return source.Escape(s, "") }
