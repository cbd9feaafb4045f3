package report

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
)

// writeText prints one line per problem:
//
//	[FILE[:LINE[:COLUMN]]: ][INSTANCE: ][warning: |note: ][PATH: ]MESSAGE[; HINT][ (RULEAT)]
//
// INSTANCE is printed only without LINE: a line already identifies the instance.
func writeText(w *bufio.Writer, entries []entry, color bool) error {
	p := style.Painter{Color: color}
	for _, e := range entries {
		var line strings.Builder
		if at := subject(e); at != "" {
			line.WriteString(p.Paint(style.Bold, at+":") + " ")
		}
		switch e.Severity {
		case problem.Error: // needs no word
		case problem.Warning:
			line.WriteString(p.Paint(style.Yellow, "warning:") + " ")
		case problem.Note:
			line.WriteString(p.Paint(style.Blue, "note:") + " ")
		}
		path, message, hint, ruleAt := parts(e)
		if e.Severity == problem.Error {
			message = p.Paint(style.Red, message)
		}
		line.WriteString(path + message + hint + p.Paint(style.Dim, ruleAt))
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

// sentence returns a problem without position and severity, on one line. Formats
// that have fields of their own for these use it as the message.
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
