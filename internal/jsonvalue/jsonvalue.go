// Package jsonvalue reads decoded JSON: trees of map[string]any, []any and
// scalars, as encoding/json and unstructured objects have them. It also writes JSON
// for people and programs.
package jsonvalue

import (
	"encoding/json"
	"io"
)

// Write prints v as indented JSON with a newline at the end. It leaves <, > and &
// unescaped: messages and values of Kubernetes objects often have these. It returns
// the first error of w.
func Write(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Number returns a decoded JSON number as a float64, and false for any other
// value. Decoders differ in the type they choose: client-go decodes a whole
// number as int64, encoding/json decodes every number as float64.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// Field returns the value at a path of field names, and nil if a field on the
// path is missing or isn't a map. The value is not copied.
func Field(object map[string]any, path ...string) any {
	var v any = object
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}
