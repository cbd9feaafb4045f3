package shape

import (
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
)

// rule is what a struct demands that is about several of its fields.
type Rule struct {
	// text is a CEL expression in which selfMark stands for the struct.
	Text string
	// message says the rule to who broke it.
	Message string
	// field is the path of the field that is wrong where the rule is broken, as
	// the API server writes it, or empty.
	Field string
	// exact says that the rule rejects all that CUE rejects for its sake.
	Exact bool
	// fields are the struct's fields that it reads.
	Fields []string
	// defaulted says that it is exact only if defaults are in the schema.
	Defaulted bool
	// notes are for where the rule can't be written.
	Notes []problem.Problem
}

// selfMark can't occur in CEL.
const SelfMark = "\x00"

// on is the rule about v.
func (r Rule) For(v string) string { return strings.ReplaceAll(r.Text, SelfMark, v) }

func (r Rule) equal(s Rule) bool { return r.Text == s.Text && r.Exact == s.Exact }
