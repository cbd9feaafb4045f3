package jsonschema

import (
	"maps"
	"slices"
	"strings"
)

// junctors are the keywords that combine schemas.
var junctors = []string{"allOf", "anyOf", "oneOf"}

// convert rewrites the JSON of an OpenAPI schema as JSON schema, in place. closes adds that
// an object has no other fields than its properties; it must be false in combinations, whose
// parts know only some fields.
func convert(s map[string]any, closes bool) {
	integerOrString(s)
	bounds(s)
	if s["format"] == "date-time" {
		s["nullable"] = true // kubectl writes creationTimestamp: null into files
	}
	nullable(s)
	open, _ := s["x-kubernetes-preserve-unknown-fields"].(bool)
	properties, _ := s["properties"].(map[string]any)
	if _, given := s["additionalProperties"]; closes && properties != nil && !given && !open {
		s["additionalProperties"] = false
	}
	for _, p := range properties {
		convert(p.(map[string]any), closes)
	}
	for _, in := range []string{"items", "additionalProperties"} {
		if sub, ok := s[in].(map[string]any); ok {
			convert(sub, closes)
		}
	}
	if not, ok := s["not"].(map[string]any); ok {
		convert(not, false)
	}
	for _, name := range junctors {
		parts, _ := s[name].([]any)
		for _, part := range parts {
			convert(part.(map[string]any), false)
		}
	}
	maps.DeleteFunc(s, func(name string, _ any) bool { return strings.HasPrefix(name, "x-kubernetes-") })
}

// integerOrString adds the types of a value that may be both, unless anyOf has them.
func integerOrString(s map[string]any) {
	if is, _ := s["x-kubernetes-int-or-string"].(bool); is && s["anyOf"] == nil {
		s["type"] = []any{"integer", "string"}
	}
}

// bounds turns a bound with a boolean that makes it exclusive into an exclusive bound.
func bounds(s map[string]any) {
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if is, ok := s[exclusive].(bool); ok {
			delete(s, exclusive)
			if is && s[bound] != nil {
				s[exclusive] = s[bound]
				delete(s, bound)
			}
		}
	}
}

// nullable adds null to the type and the enumeration of a value that may be null.
func nullable(s map[string]any) {
	is, _ := s["nullable"].(bool)
	delete(s, "nullable")
	if !is {
		return
	}
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
	case []any:
		s["type"] = append(t, "null")
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, nil) {
		s["enum"] = append(enum, nil)
	}
}
