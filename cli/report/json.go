package report

import (
	"bufio"

	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/internal/problem"
)

// JSONProblem is the JSON form of a problem. Fields may be added; none is renamed
// or removed.
type JSONProblem struct {
	// File is the user's file, with slashes. Reports have its path in the git
	// repository; see [Options.Path]. Line and Column count from 1; without Line the
	// position in the file is unknown.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Path is the field, such as spec.port.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	// Hint suggests a correction: did you mean "image"?
	Hint string `json:"hint,omitempty"`
	// Rule is the stable identifier of the broken rule, such as constraint.
	Rule string `json:"rule,omitempty"`
	// RuleAt is where that rule is written, such as webservice/schema.cue:8:14,
	// or which instances a problem of the module affects.
	RuleAt string `json:"ruleAt,omitempty"`
	// Severity is error, warning or note.
	Severity string `json:"severity"`
	// Instance is the object that has the problem, such as WebService default/web.
	Instance string `json:"instance,omitempty"`
}

// JSON returns the JSON form of problems in the given order, for commands whose
// JSON output contains more than problems. The result is never nil.
func JSON(problems problem.List) []JSONProblem { return jsonProblems(merged(problems)) }

// jsonProblems converts entries in their order. The result is never nil.
func jsonProblems(entries []entry) []JSONProblem {
	all := make([]JSONProblem, len(entries))
	for i, e := range entries {
		all[i] = JSONProblem{
			File: e.Position.File, Line: e.Position.Line, Column: e.Position.Column,
			Path: e.Path, Message: e.Message, Hint: e.Hint, Rule: e.Rule, RuleAt: e.ruleAt,
			Severity: e.Severity.String(), Instance: e.Instance,
		}
	}
	return all
}

// writeJSON prints the entries as an array, [] if there are none. Bytes that are
// not UTF-8 become U+FFFD.
func writeJSON(w *bufio.Writer, entries []entry) error {
	return jsonvalue.Write(w, jsonProblems(entries))
}
