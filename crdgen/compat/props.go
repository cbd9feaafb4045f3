package compat

import (
	"bytes"
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// props is one OpenAPI schema.
type props = apiextensionsv1.JSONSchemaProps

// compact returns JSON in one form, so that equal values give equal texts.
func compact(raw []byte) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// equal compares two values by their JSON.
func equal(a, b any) bool {
	x, errx := json.Marshal(a)
	y, erry := json.Marshal(b)
	return errx == nil && erry == nil && bytes.Equal(x, y)
}

// show returns a default for a message, shortened. 60 characters leave room for
// the rest of the line.
func show(v *apiextensionsv1.JSON) string {
	s := compact(v.Raw)
	if r := []rune(s); len(r) > 60 {
		return fmt.Sprintf("%s…", string(r[:60]))
	}
	return s
}

// positive returns nil for a minimum that every value satisfies. A minLength of 0
// is the same as none.
func positive(n *int64) *int64 {
	if n != nil && *n <= 0 {
		return nil
	}
	return n
}
