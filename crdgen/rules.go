package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// rule adds the predicate p about self to the schema out. It reports whether
// the rule says everything: p may not be exact, or the API server may have
// refused the rule in an earlier round.
func (w writer) rule(out *props, at location, p cel.Predicate, message string) bool {
	return w.ruleAt(out, at, "", p, message)
}

// spare marks the rule p as one that the schema can do without: if the rules
// together are too expensive, it is dropped before others.
func (w writer) spare(at location, p cel.Predicate) { w.spared[ruleKey{at.schema, p.Text}] = true }

// ruleAt is like rule, with the path from self to the field to blame. For the
// predicate self.max >= self.min with the field .max it writes the rule with
// fieldPath: .max, unless the schema has the same rule already.
func (w writer) ruleAt(out *props, at location, field string, p cel.Predicate, message string) bool {
	written := false
	if p.Text != "" && !at.bare && !w.refused[ruleKey{at.schema, p.Text}] {
		written = true
		r := apiextensionsv1.ValidationRule{Rule: p.Text, Message: shorten(message), FieldPath: field}
		if !slices.ContainsFunc(out.XValidations, func(q apiextensionsv1.ValidationRule) bool { return q.Rule == r.Rule }) {
			out.XValidations = append(out.XValidations, r)
		}
	}
	return p.Exact && (written || p.Text == "")
}

// rules writes the rules of a struct. A rule that is not exact, or can't be
// written, is replaced or accompanied by its notes. A rule that relies on
// defaults is exact only where defaults are written.
func (w writer) rules(out *props, o *shape.Object, at location) {
	for _, r := range o.Rules {
		field := r.Field
		if len(o.Fields) > maxBlamed {
			field = ""
		}
		if !w.ruleAt(out, at, field, cel.Predicate{Text: r.For("self"), Exact: r.Exact && (!r.Defaulted || at.defaults)}, r.Message) {
			for _, n := range r.Notes {
				w.notes.put(n)
			}
		}
	}
}

// maxBlamed bounds the structs whose rules name the field to blame. An API
// server reads the whole struct again for each such name; without it, the
// message still names the field.
const maxBlamed = 64

// maxMessage keeps messages readable, in bytes. An API server would accept
// longer ones.
const maxMessage = 240

// shorten puts a message on one line of at most [maxMessage] bytes. It cuts
// between characters, never inside of one.
func shorten(message string) string {
	message = strings.Join(strings.Fields(message), " ")
	if len(message) <= maxMessage {
		return message
	}
	cut := maxMessage
	for cut > 0 && message[cut]&0xC0 == 0x80 {
		cut--
	}
	return message[:cut] + "…"
}
