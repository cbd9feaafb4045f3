package crdgen

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// rule is what a struct demands that is about several of its fields.
type rule struct {
	// text is a CEL expression in which selfMark stands for the struct.
	text string
	// message says the rule to who broke it.
	message string
	// field is the path of the field that is wrong where the rule is broken, as
	// the API server writes it, or empty.
	field string
	// exact says that the rule rejects all that CUE rejects for its sake.
	exact bool
	// fields are the struct's fields that it reads.
	fields []string
	// defaulted says that it is exact only if defaults are in the schema.
	defaulted bool
	// notes are for where the rule can't be written.
	notes []Note
}

// selfMark can't occur in CEL.
const selfMark = "\x00"

// on is the rule about v.
func (r rule) on(v string) string { return strings.ReplaceAll(r.text, selfMark, v) }

func (r rule) equal(s rule) bool { return r.text == s.text && r.exact == s.exact }

// ruleKey names a rule by the schema that carries it and its text.
type ruleKey struct{ schema, text string }

// rule adds the predicate p about self to the schema out. It reports whether all
// is said: p may not be exact, and the API server may have refused it before.
func (w writer) rule(out *props, at place, p predicate, message string) bool {
	return w.ruleAt(out, at, "", p, message)
}

// ruleAt is rule with the path of the field to blame, from self.
func (w writer) ruleAt(out *props, at place, field string, p predicate, message string) bool {
	written := false
	if p.text != "" && !at.bare && !w.refused[ruleKey{at.schema, p.text}] {
		written = true
		r := apiextensionsv1.ValidationRule{Rule: p.text, Message: shorten(message), FieldPath: field}
		if !slices.ContainsFunc(out.XValidations, func(q apiextensionsv1.ValidationRule) bool { return q.Rule == r.Rule }) {
			out.XValidations = append(out.XValidations, r)
		}
	}
	return p.exact && (written || p.text == "")
}

// rules writes the rules of a struct.
func (w writer) rules(out *props, o *object, at place) {
	for _, r := range o.rules {
		field := r.field
		if len(o.fields) > maxBlamed {
			field = ""
		}
		if !w.ruleAt(out, at, field, predicate{text: r.on("self"), exact: r.exact && (!r.defaulted || at.defaults)}, r.message) {
			for _, n := range r.notes {
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
