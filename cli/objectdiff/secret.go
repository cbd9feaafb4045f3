package objectdiff

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/reference"
)

// mask is what every format shows of a secret value.
const mask = "***"

// secret is a value that must not be printed. It has no exported way to the
// value, and whichever way fmt and encoding/json try, they get the mask.
type secret struct{ value string }

func (secret) String() string               { return mask }
func (secret) GoString() string             { return mask }
func (secret) Format(f fmt.State, _ rune)   { fmt.Fprint(f, mask) }
func (secret) MarshalJSON() ([]byte, error) { return []byte(`"` + mask + `"`), nil }

// late is a value that only the cluster can tell.
type late struct {
	key    string // reference.FromKey or reference.GenerateKey
	expr   string // canonical, for GenerateKey
	hidden bool   // stands in a Secret: the expression may spell out what is secret
}

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

// prepare makes a private copy of an object, ready to be compared and shown:
// nulls, which the API server drops, are gone; the namespace is the one that was
// settled on; late references of graphs and secret values have types of their own.
func prepare(key Key, object map[string]any, fromGraph bool) map[string]any {
	p := preparer{late: fromGraph}
	body, _ := p.value(object, false).(map[string]any)
	metadata, _ := body["metadata"].(map[string]any)
	if metadata == nil {
		return body
	}
	if delete(metadata, "namespace"); key.Namespace != "" {
		metadata["namespace"] = key.Namespace
	}
	return body
}

type preparer struct {
	late bool
}

// value copies v; hidden says that v is part of a Secret's values.
func (p preparer) value(v any, hidden bool) any {
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
			case item == nil:
			case isRecord(k):
				copied[k] = secret{canonical(item)}
			default:
				copied[k] = p.value(item, hidden)
			}
		}
		return copied
	case []any:
		if hidden {
			return secret{canonical(v)}
		}
		copied := make([]any, len(v))
		for i, item := range v {
			copied[i] = p.value(item, false)
		}
		return copied
	}
	if hidden {
		return secret{canonical(v)}
	}
	return v
}

func (p preparer) reference(m map[string]any, hidden bool) (late, bool) {
	if !p.late || len(m) != 1 {
		return late{}, false
	}
	if expr, ok := m[reference.FromKey].(string); ok {
		return late{reference.FromKey, expr, hidden}, true
	}
	if g, ok := m[reference.GenerateKey]; ok {
		return late{reference.GenerateKey, canonical(g), hidden}, true
	}
	return late{}, false
}

// secretFields are the fields of a Secret that hold its values.
func secretFields() []string { return []string{"data", "stringData"} }

func (p preparer) secret(m map[string]any) map[string]any {
	copied := make(map[string]any, len(m))
	for k, v := range m {
		if v != nil {
			copied[k] = p.value(v, k == secretFields()[0] || k == secretFields()[1])
		}
	}
	// What tools keep of a Secret in its annotations is as secret as its values.
	values := revealed(m)
	metadata, _ := copied["metadata"].(map[string]any)
	texts, _ := metadata["annotations"].(map[string]any)
	for k, v := range texts {
		if s, ok := v.(string); ok && (strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") || containsAny(s, values)) {
			texts[k] = secret{canonical(v)}
		}
	}
	return copied
}

// isRecord tells the annotations in which tools keep a whole object as it was
// applied, some of them compressed.
func isRecord(key string) bool {
	switch key {
	case "kubectl.kubernetes.io/last-applied-configuration", "kapp.k14s.io/original",
		"objectset.rio.cattle.io/applied", "banzaicloud.com/last-applied",
		"kopf.zalando.org/last-handled-configuration":
		return true
	}
	return false
}

// shortest is the length from which on a value is looked for in other texts:
// shorter ones stand in most texts by chance.
const shortest = 4

// revealed lists the values of a Secret, encoded and not.
func revealed(m map[string]any) []string {
	var values []string
	for _, field := range secretFields() {
		entries, _ := m[field].(map[string]any)
		for _, v := range entries {
			s, ok := v.(string)
			if !ok || len(s) < shortest {
				continue
			}
			values = append(values, s, base64.StdEncoding.EncodeToString([]byte(s)))
			if plain, err := base64.StdEncoding.DecodeString(s); err == nil && len(plain) >= shortest {
				values = append(values, string(plain))
			}
		}
	}
	return values
}

func containsAny(s string, values []string) bool {
	for _, v := range values {
		if strings.Contains(s, v) {
			return true
		}
	}
	return false
}
