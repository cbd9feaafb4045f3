package crdgen

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ruleKey names a rule by the schema that carries it and its text.
type ruleKey struct{ schema, text string }

// rule adds the predicate p about self to the schema out. It reports whether all
// is said: p may not be exact, and the API server may have refused it before.
func (w writer) rule(out *props, at place, p cel.Predicate, message string) bool {
	return w.ruleAt(out, at, "", p, message)
}

// ruleAt is rule with the path of the field to blame, from self.
func (w writer) ruleAt(out *props, at place, field string, p cel.Predicate, message string) bool {
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

// rules writes the rules of a struct.
func (w writer) rules(out *props, o *shape.Object, at place) {
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

// maxBlamed bounds the structs whose rules name the field to blame: an API server
// reads the whole struct anew for each of these names. The messages say it, too.
const maxBlamed = 64

// maxMessage keeps messages readable; the API server would take more.
const maxMessage = 240

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
