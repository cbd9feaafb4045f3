package shape

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// Rule is a constraint of a struct that is about several of its fields.
type Rule struct {
	// Text is a CEL expression in which [SelfMark] stands for the struct. See
	// [Rule.For].
	Text string
	// Message tells the user of an instance what the rule demands.
	Message string
	// Field is the path of the field to blame, in the API server's notation. It
	// may be empty.
	Field string
	// Exact reports that the rule rejects every value that CUE rejects for the
	// same reason.
	Exact bool
	// Fields are the names of the struct's fields that the rule reads.
	Fields []string
	// Defaulted limits Exact: it holds only if the CRD has the defaults of the
	// fields that the rule reads.
	Defaulted bool
	// Notes are reported if the rule can't be written, or isn't exact.
	Notes []problem.Problem
}

// SelfMark stands for the struct in the text of a rule. No CEL expression can
// contain it.
const SelfMark = "\x00"

// For returns the rule as a CEL expression about v.
func (r Rule) For(v string) string { return strings.ReplaceAll(r.Text, SelfMark, v) }

// equal ignores messages and notes.
func (r Rule) equal(s Rule) bool { return r.Text == s.Text && r.Exact == s.Exact }
