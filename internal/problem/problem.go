// Package problem has one type for everything that is wrong with a user's
// input: instances, modules, graphs, rendered objects and CRDs.
//
// Whoever finds a problem fills in a [Problem]; package cli/report prints it.
// The package finds nothing itself and knows neither CUE nor Kubernetes, so
// every package may import it.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is a position in a file. Line and Column count from 1. Line 0 means
// that only the file is known, and File "" that nothing is known.
type Position struct {
	File         string
	Line, Column int
}

// String formats the position as FILE[:LINE[:COLUMN]].
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Compare orders positions by file, line and column.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Severity ranks problems. The zero value is Error.
type Severity int

// The severities. An Error stops the instance or graph that it is in; a
// Warning and a Note are only shown.
const (
	Error Severity = iota
	Warning
	Note
)

// String returns the name that output formats use.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	}
	return "note"
}

// Problem is one mistake.
type Problem struct {
	Severity Severity
	// Position is where the user can correct the mistake.
	Position Position
	// Path is the field, such as spec.port in an instance or
	// nodes.web.resource.spec in rendered output. It may be empty.
	Path    string
	Message string
	// Hint suggests a correction, such as `did you mean "image"?`.
	Hint string
	// Rule is the stable identifier of the kind of problem, such as
	// [RuleRequired]. Machine-readable formats print it.
	Rule string
	// Related is where the broken rule is written, usually in the module.
	Related Position
	// Instance names the instance that is affected, as "Kind namespace/name".
	Instance string
	// InstanceAt is where that instance begins, if Position is in another file.
	InstanceAt Position
}

// The rules of problems that rendering and validation find. Packages that
// compare definitions or objects have rules of their own.
const (
	RuleYAML       = "yaml"          // not YAML, or read differently by different YAML parsers
	RuleInstance   = "instance"      // apiVersion, kind or metadata
	RulePlatform   = "platform"      // no platform for the kind, or several
	RuleUnknown    = "unknown"       // a field that the schema does not have
	RuleRequired   = "required"      // a missing field
	RuleType       = "type"          // a value of the wrong type
	RuleEnum       = "enum"          // a value outside an enumeration
	RuleConstraint = "constraint"    // a value outside bounds, a pattern or a similar constraint
	RulePolicy     = "policy"        // a policy violation
	RuleModule     = "module"        // the module itself
	RuleTransform  = "transform"     // a field of a Transform
	RuleDigest     = "digest"        // a module with another digest than the pinned one
	RuleLock       = "lock"          // pequod.lock, or a module that it does not name
	RuleAllowed    = "allow-modules" // a module that a list of allowed modules lacks
	RuleSignature  = "signature"     // a module that is not signed as a rule demands
	RuleGraph      = "graph"         // the graph that the module produced
	RuleSecret     = "secret"        // secret values in plain text
	RuleSize       = "size"          // a graph that is too large
	RuleDuplicate  = "duplicate"     // two instances with the same identity
	RuleReserved   = "reserved"      // $from or $generate in an instance
	RuleNull       = "null"          // a null that the API server would drop
	RuleSchema     = "schema"        // an object that does not match the schema of its kind
	RuleStale      = "stale"         // an output file that rendering again would change
	RuleUnchecked  = "not-checked"   // an evaluation that was stopped before it had a result
)

// String formats the problem as one line:
//
//	[POSITION: ][warning: |note: ][PATH: ]MESSAGE[; HINT][ (RELATED)][, rendering INSTANCEAT]
func (p Problem) String() string {
	var b strings.Builder
	if p.Position.File != "" {
		b.WriteString(p.Position.String() + ": ")
	}
	if p.Severity != Error {
		b.WriteString(p.Severity.String() + ": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("; " + p.Hint)
	}
	if p.Related.File != "" {
		b.WriteString(" (" + p.Related.String() + ")")
	}
	if p.InstanceAt.File != "" {
		b.WriteString(", rendering " + p.InstanceAt.String())
	}
	return b.String()
}

// List is an error made of problems.
type List []Problem

// Error formats the problems, one per line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Failed reports whether the list has a problem of severity Error.
func (l List) Failed() bool {
	return slices.ContainsFunc(l, func(p Problem) bool { return p.Severity == Error })
}

// Err returns the list as an error, or nil if it is empty.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// Sorted sorts the list by position, path and message, and returns it without
// duplicates.
func (l List) Sorted() List {
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(
			a.Position.Compare(b.Position), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(l)
}

// Without returns the problems of the list, except for those of values that have a known
// problem: at the same position and path. For example, a name that Kubernetes rejects is not
// reported again for the pattern of a schema.
func (l List) Without(known List) List {
	return slices.DeleteFunc(slices.Clone(l), func(p Problem) bool {
		return slices.ContainsFunc(known, func(k Problem) bool { return k.Position == p.Position && k.Path == p.Path })
	})
}
