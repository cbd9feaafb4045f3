package crdgen

import (
	"encoding/json"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/internal/schema/cel"
	"github.com/pequod-io/pequod/internal/schema/shape"
)

// field writes a field with its description and default.
//
// An API server sets defaults before it stores an object, so that a default is
// taken for the instance's own value when the instance is rendered. Package read
// therefore keeps only defaults with which an instance renders the same as
// without; it drops those that depend on other fields, or that other fields are
// equal to. Inside of a choice no default is written, because it would depend on
// the member that the instance means. Rendering supplies all other defaults. For
// replicas: *1 | int it writes default: 1. For {name: string, host: *name |
// string} host gets no default.
func (w writer) field(f shape.Field, p location) props {
	out := w.schema(f.Shape, p)
	out.Description = descriptionOf(f, out)
	w.attributes(&out, f, p)
	if p.defaults && f.Default != nil {
		out.Default = &apiextensionsv1.JSON{Raw: f.Default}
		if f.Attributes != nil && len(f.Attributes.Rules) > 0 && string(f.Default) == "{}" {
			// An API server evaluates the rules on the default as it is written.
			full, err := json.Marshal(WithDefaults(&out, map[string]any{}))
			if err != nil {
				w.fail(problemAt(p.pos, p.path, "default: %v", err))
			}
			out.Default.Raw = full
		}
	}
	return out
}

// WithDefaults sets the defaults of the fields of a schema in a decoded JSON value, as an
// API server does, except in lists and maps. It changes v and returns it.
func WithDefaults(s *apiextensionsv1.JSONSchemaProps, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for name, p := range s.Properties {
		value, given := object[name]
		if given || p.Default != nil && json.Unmarshal(p.Default.Raw, &value) == nil {
			object[name] = WithDefaults(&p, value)
		}
	}
	return v
}

// schema writes a shape with its type, and its checks as rules. For int & >=1 &
// <=9 it returns the type integer with minimum 1 and maximum 9.
func (w writer) schema(s shape.Shape, p location) props {
	out := w.typed(s, p)
	checks := shape.ChecksOf(s)
	if len(checks) == 0 {
		return out
	}
	var texts []string
	for _, c := range checks {
		texts = append(texts, shorten(c.Text))
	}
	q := cel.Holds(s, shape.WithoutChecks(s), "self")
	junctors, expressible := junctorsOf(s)
	if expressible {
		w.spare(p, q)
	}
	switch {
	case w.rule(&out, p, q, "must satisfy "+strings.Join(texts, " and ")):
	case expressible:
		conjoin(&out, junctors)
	default:
		for _, text := range texts {
			w.notes.add(p.pos, p.path, "%s", text)
		}
	}
	return out
}

// typed writes a shape except for its checks.
func (w writer) typed(s shape.Shape, p location) props {
	s, nullable := shape.WithoutNull(s)
	out := props{Nullable: nullable}
	switch kinds := shape.KindsOf(s); kinds {
	case shape.TopKind:
		// The API server drops null from fields that aren't nullable.
		return props{XPreserveUnknownFields: new(true), Nullable: true}
	// Only null is admitted, so all other kinds are excluded.
	case shape.BottomKind:
		out.XPreserveUnknownFields = new(true)
		out.AllOf = excluding(jsonKinds, shape.BottomKind)
		return out
	case shape.ListKind:
		w.list(&out, s, p)
		return out
	case shape.StructKind:
		w.structs(&out, s, p)
		return out
	case shape.BoolKind:
		out.Type = "boolean"
	case shape.IntKind:
		out.Type = "integer"
	case shape.NumberKind, shape.FloatKind:
		out.Type = "number"
	case shape.StringKind:
		out.Type = "string"
	case shape.IntKind | shape.StringKind:
		out.XIntOrString = true
	default:
		w.mixed(&out, s, p)
		p.bare = true
	}
	// own is the schema of the scalars. unsaid are the constraints that it can't express. branched is set if it
	// has alternatives: for a value that matches none, the API server's error names only one of them. The
	// cases are:
	//
	//	unsaid  branched
	//	no      no        own
	//	no      yes       a rule instead of own, or both if it can't replace it
	//	yes     no        own and a rule, or a note about what it leaves out
	//	yes     yes       a rule instead of own, or own and a rule or a note
	//
	// A bare schema is part of one that admits other kinds, which gets the rules.
	var own props
	unsaid := scalars(&own, s, nullable)
	mixed := shape.IsMixed(shape.KindsOf(s)) && (own.Minimum != nil || own.Maximum != nil)
	branched := (hasChoice(own) || mixed) && !p.bare
	if len(unsaid) == 0 && !branched {
		conjoin(&out, own)
		return out
	}
	declared := shape.OfKinds(shape.KindsOf(s) &^ (shape.ListKind | shape.StructKind))
	if nullable {
		s, declared = append(s, shape.Term{Kind: shape.NullKind}), append(declared, shape.Term{Kind: shape.NullKind})
	}
	q := cel.Unknown()
	if !p.bare {
		q = cel.Holds(s, declared, "self")
	}
	if branched && q.Exact {
		if len(unsaid) == 0 {
			w.spare(p, q)
		}
		if w.rule(&out, p, q, "must be "+alternativesOf(s)) {
			return out
		}
	}
	conjoin(&out, own)
	if len(unsaid) == 0 {
		return out
	}
	// A rule covers the constraints that the schema had to leave out.
	if !w.rule(&out, p, q, "must satisfy "+strings.Join(unsaid, " and ")) {
		refused := p.bare || w.refused[ruleKey{p.schema, q.Text}]
		for _, f := range unsaid {
			if !refused {
				f = restOf(f)
			}
			w.notes.add(p.pos, p.path, "%s", f)
		}
	}
	return out
}

// restOf returns what remains to rendering, of something that the schema leaves
// out, if there is a rule about it.
func restOf(unsaid string) string {
	if f, ok := shape.FormatOf(unsaid); ok {
		return cel.FormatRest(f)
	}
	if strings.HasPrefix(unsaid, "math.MultipleOf(") {
		return unsaid + " beyond 1e9 and in more digits than a float has"
	}
	return unsaid
}
