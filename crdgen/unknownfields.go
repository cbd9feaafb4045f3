package crdgen

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// otherFields writes what o admits among fields that it doesn't list. [string]:
// int alone becomes additionalProperties with the type integer. Beside named
// fields a structural schema can't have it, so unknown fields are kept unchecked,
// with a note. A closed struct gets neither: the API server drops unknown fields.
func (w writer) otherFields(out *props, o *shape.Object, p location) {
	switch {
	case o.Values == nil:
		if o.Open {
			out.XPreserveUnknownFields = new(true)
		}
	case o.Values.Equal(shape.Any()):
		out.XPreserveUnknownFields = new(true)
	case len(o.Fields) > 0 || o.Open:
		out.XPreserveUnknownFields = new(true)
		w.notes.add(p.pos, p.path+".*", "what the fields that the schema doesn't name hold")
	default:
		schema := w.schema(o.Values, p.in(".*", problem.Position{}))
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &schema}
		w.keys(out, o, p)
		return
	}
	for _, k := range o.Patterns {
		w.notes.add(k.Pos, p.path+".*", "the constraint on fields that match %s", k.Text)
	}
}

// keys writes what a map demands of its keys. For [=~"^[a-z]+$"]: string the rule
// is self.all(key, key.matches('^[a-z]+$')).
func (w writer) keys(out *props, o *shape.Object, p location) {
	if len(o.Patterns) == 0 {
		return
	}
	q := cel.Unknown()
	if cel.IsAccessible(o.Values) {
		q = cel.AllOf(cel.HoldsKeys(o, "self", "key")...)
		if q.Text != "" {
			q.Text = "self.all(key, " + q.Text + ")"
		}
	}
	var texts []string
	for _, k := range o.Patterns {
		texts = append(texts, k.Text)
	}
	if w.rule(out, p, q, keysMessage(o, texts)) {
		return
	}
	for _, k := range o.Patterns {
		w.notes.add(k.Pos, p.path+".*", "that the key matches %s", k.Text)
	}
	if len(o.Patterns) > 1 {
		w.notes.add(o.Patterns[0].Pos, p.path+".*", "which key takes which value")
	}
}

// keysMessage returns the message of the rule about keys.
func keysMessage(o *shape.Object, texts []string) string {
	if o.KeysClosed && len(texts) == 1 {
		return "each name must be " + texts[0]
	}
	return "each field must be what the schema says for names like " + strings.Join(texts, " and ")
}
