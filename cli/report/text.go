package report

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
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

// writeText prints one line per problem:
//
//	[FILE[:LINE[:COLUMN]]: ][INSTANCE: ][warning: |note: ][PATH: ]MESSAGE[; HINT][ (RULEAT)]
//
// INSTANCE is printed only without LINE: a line already identifies the instance.
func writeText(w *bufio.Writer, entries []entry, color bool) error {
	for _, e := range entries {
		paint := func(code, text string) string {
			if !color || text == "" {
				return text
			}
			return code + text + reset
		}
		var line strings.Builder
		if at := subject(e); at != "" {
			line.WriteString(paint(bold, at+":") + " ")
		}
		switch e.Severity {
		case problem.Error:
		case problem.Warning:
			line.WriteString(paint(yellow, "warning:") + " ")
		case problem.Note:
			line.WriteString(paint(blue, "note:") + " ")
		}
		path, message, hint, ruleAt := parts(e)
		if e.Severity == problem.Error {
			message = paint(red, message)
		}
		line.WriteString(path + message + hint + paint(dim, ruleAt))
		if _, err := fmt.Fprintln(w, line.String()); err != nil {
			return err
		}
	}
	return nil
}

// subject returns the beginning of a problem's line: the position, or the file and
// the instance if the line is unknown.
func subject(e entry) string {
	at := e.Position.String()
	if e.Position.Line == 0 && e.Instance != "" {
		if at != "" {
			at += ": "
		}
		at += e.Instance
	}
	return source.Escape(at, "")
}

// sentence returns a problem without position and severity, on one line.
func sentence(e entry) string {
	path, message, hint, ruleAt := parts(e)
	return path + message + hint + ruleAt
}

// parts returns the parts of a problem's line, escaped and with punctuation.
// Parts that the problem does not have are empty.
func parts(e entry) (path, message, hint, ruleAt string) {
	if e.Path != "" {
		path = source.Escape(e.Path, "") + ": "
	}
	if e.Hint != "" {
		hint = "; " + source.Escape(e.Hint, "")
	}
	if e.ruleAt != "" {
		ruleAt = " (" + source.Escape(e.ruleAt, "") + ")"
	}
	return path, source.Escape(e.Message, ""), hint, ruleAt
}
