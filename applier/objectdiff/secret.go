package objectdiff

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
)

// mask replaces a secret value in every format.
const mask = "***"

// secret is a value that must not be printed. Package fmt, whatever the verb, and
// the encoders of JSON and YAML get the mask from it; only scalarText and comparisons
// read the value. value is the text of the original, so that secrets of different types
// differ; see sourceText.
type secret struct{ value string }

// The methods override every way in which fmt and the encoders read a value.

func (secret) String() string               { return mask }
func (secret) GoString() string             { return mask }
func (secret) Format(f fmt.State, _ rune)   { fmt.Fprint(f, mask) }
func (secret) MarshalText() ([]byte, error) { return []byte(mask), nil }

// sourceText returns a value of a manifest as text. Two texts are equal if and only if
// the values are: fmt sorts the keys of maps.
func sourceText(v any) string { return fmt.Sprintf("%#v", v) }

// late is a value that is known only after an apply: a reference to another node, or
// a generated value.
type late struct {
	key    string // reference.FromKey, reference.GenerateKey, or "" for an unknown value
	expr   string // the expression, or the text of the settings for GenerateKey
	hidden bool   // part of a Secret, whose expression may contain secrets
}

// String describes the source of the value. In a Secret, the expression may contain
// the value itself, so it is left out.
func (l late) String() string {
	const known = "(known after apply)"
	switch {
	case l.hidden:
		return known
	case l.key == reference.FromKey:
		return known + " from " + l.expr
	}
	return known + " generated"
}

// MarshalText returns the value as JSON and YAML show it.
func (l late) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// normalize returns a copy of an object for comparing and printing. It drops nulls, as
// the API server does, sets the namespace of the key, replaces secret values by
// secret and, if the object is from a graph, references by late. A whole number is
// an int64, so that 1 and 1.0 are equal.
func normalize(key Key, object map[string]any, fromGraph bool) map[string]any {
	p := normalizer{late: fromGraph}
	body, _ := p.value(object, false).(map[string]any)
	metadata, _ := body["metadata"].(map[string]any)
	if metadata == nil {
		return body
	}
	// The namespace of the key counts: a manifest may leave it out, or set one for a
	// cluster-scoped kind.
	if delete(metadata, "namespace"); key.Namespace != "" {
		metadata["namespace"] = key.Namespace
	}
	return body
}

// normalizer copies values; see normalize.
type normalizer struct {
	late bool // replace references
}

// value returns a normalized copy of v. hidden is set inside the values of a Secret.
func (p normalizer) value(v any, hidden bool) any {
	switch v := v.(type) {
	case map[string]any:
		if l, ok := p.reference(v, hidden); ok {
			return l
		}
		// Objects of other kinds may contain whole manifests of Secrets.
		if !hidden && graph.IsSecret(v) {
			return p.secret(v)
		}
		copied := make(map[string]any, len(v))
		for k, item := range v {
			switch {
			case item == nil: // the API server drops it
			// Masked in objects of every kind: the content cannot be searched for
			// secrets.
			case isLastApplied(k):
				copied[k] = secret{sourceText(item)}
			default:
				copied[k] = p.value(item, hidden)
			}
		}
		return copied
	case []any:
		if hidden { // a list is not valid here; hide even its length
			return secret{sourceText(v)}
		}
		copied := make([]any, len(v))
		for i, item := range v {
			copied[i] = p.value(item, false)
		}
		return copied
	case float64:
		if i := int64(v); float64(i) == v {
			return p.value(i, hidden)
		}
	}
	if hidden {
		return secret{sourceText(v)}
	}
	return v
}

// reference returns the late value for a map that is a reference of a graph.
func (p normalizer) reference(m map[string]any, hidden bool) (late, bool) {
	if !p.late || len(m) != 1 {
		return late{}, false
	}
	if expr, ok := m[reference.FromKey].(string); ok {
		return late{reference.FromKey, expr, hidden}, true
	}
	if g, ok := m[reference.GenerateKey]; ok {
		return late{reference.GenerateKey, sourceText(g), hidden}, true
	}
	return late{}, false
}

// secretFields returns the fields of a Secret that contain its values. data is
// encoded in base64, stringData is plain.
func secretFields() []string { return []string{"data", "stringData"} }

// secret returns a normalized copy of a Secret with its values masked.
// Annotations that contain a value, or a JSON document that may contain one, are
// masked too. The keys of the values are not masked, since a reader must see
// which values change.
func (p normalizer) secret(m map[string]any) map[string]any {
	copied := make(map[string]any, len(m))
	for k, v := range m {
		if v != nil {
			copied[k] = p.value(v, k == secretFields()[0] || k == secretFields()[1])
		}
	}
	values := secretTexts(m)
	contains := func(s string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return strings.Contains(s, v) })
	}
	metadata, _ := copied["metadata"].(map[string]any)
	texts, _ := metadata["annotations"].(map[string]any)
	for k, v := range texts {
		if s, ok := v.(string); ok && (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") || contains(s)) {
			texts[k] = secret{sourceText(v)}
		}
	}
	return copied
}

// isLastApplied reports whether key is an annotation in which a tool stores the whole
// object as it was applied. Some are compressed, so their content cannot be searched
// for secrets.
func isLastApplied(key string) bool {
	switch key {
	case "kubectl.kubernetes.io/last-applied-configuration", "kapp.k14s.io/original",
		"objectset.rio.cattle.io/applied", "banzaicloud.com/last-applied",
		"kopf.zalando.org/last-handled-configuration":
		return true
	}
	return false
}

// minSecretLength is the length in bytes from which secret values are searched for in
// annotations. Shorter ones occur in most texts by chance.
const minSecretLength = 4

// secretTexts returns the values of a Secret as they could occur elsewhere: as they
// are, encoded in base64, and decoded.
func secretTexts(m map[string]any) []string {
	var values []string
	for _, field := range secretFields() {
		entries, _ := m[field].(map[string]any)
		for _, v := range entries {
			s, ok := v.(string)
			if !ok || len(s) < minSecretLength {
				continue
			}
			values = append(values, s, base64.StdEncoding.EncodeToString([]byte(s)))
			if plain, err := base64.StdEncoding.DecodeString(s); err == nil && len(plain) >= minSecretLength {
				values = append(values, string(plain))
			}
		}
	}
	return values
}
