package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/token"
)

// Pos is a place in a file, as its reader names the file. Line and Column
// count from 1; a zero Line means that only the file is known.
type Pos struct {
	File         string
	Line, Column int
}

func (p Pos) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

func posOf(p token.Pos) Pos {
	if !p.IsValid() {
		return Pos{}
	}
	q := p.Position()
	return Pos{File: q.Filename, Line: q.Line, Column: q.Column}
}

// Level says what a problem stops.
type Level int

// The levels: an Error stops the instance, the others are shown.
const (
	Error Level = iota
	Warning
	Info
)

// Problem is one thing that is wrong, at the place where it can be mended.
type Problem struct {
	Pos Pos
	// Path is the field, such as spec.port in an instance or
	// nodes.web.resource.spec in what a module made; it may be empty.
	Path    string
	Message string
	// Rule is a stable word for the kind of problem; see the Rule constants.
	Rule string
	// RulePos is where the rule that was broken stands, often in the module.
	RulePos Pos
	Hint    string
	Level   Level
	// Rendering is where the instance at hand begins, if Pos isn't in its file.
	Rendering Pos
	// Instance is the instance at hand, as "Kind namespace/name".
	Instance string
}

// The kinds of problem.
const (
	RuleYAML       = "yaml"        // not YAML, or not the same to every reader
	RuleInstance   = "instance"    // apiVersion, kind or metadata
	RulePlatform   = "platform"    // no platform, or several
	RuleUnknown    = "unknown"     // a field that the schema doesn't have
	RuleRequired   = "required"    // a field that is missing
	RuleType       = "type"        // a value of another type
	RuleEnum       = "enum"        // a value outside an enumeration
	RuleConstraint = "constraint"  // a value outside bounds, patterns and the like
	RulePolicy     = "policy"      // a violation
	RuleModule     = "module"      // the module itself
	RuleGraph      = "graph"       // what the module made
	RuleSecret     = "secret"      // secret values in clear text
	RuleSize       = "size"        // a graph that is too large
	RuleDuplicate  = "duplicate"   // two instances for one object
	RuleReserved   = "reserved"    // $from and $generate in an instance
	RuleNull       = "null"        // a null that the server would drop
	RuleSchema     = "schema"      // an object that isn't as its kind's schema says
	RuleUnchecked  = "not-checked" // an evaluation that gave no answer
)

// String gives the problem in one line: place, path, message, hint, rule.
func (p Problem) String() string {
	var b strings.Builder
	if p.Pos.File != "" {
		b.WriteString(p.Pos.String() + ": ")
	}
	switch p.Level {
	case Warning:
		b.WriteString("warning: ")
	case Info:
		b.WriteString("note: ")
	case Error:
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	if p.RulePos.File != "" {
		b.WriteString(" (" + p.RulePos.String() + ")")
	}
	if p.Rendering.File != "" {
		b.WriteString(", rendering " + p.Rendering.String())
	}
	return b.String()
}

// Problems is an error that holds everything found wrong.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Failed says whether any of the problems is an Error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Level == Error })
}

// orNil keeps an empty list from becoming a non-nil error.
func (ps Problems) orNil() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// sorted orders problems by place and drops those said twice.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Pos.File, b.Pos.File),
			cmp.Compare(a.Pos.Line, b.Pos.Line),
			cmp.Compare(a.Pos.Column, b.Pos.Column),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(ps)
}
