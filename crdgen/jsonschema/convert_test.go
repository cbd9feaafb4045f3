package jsonschema

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConvert(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"nullable", `{"type":"string","nullable":true,"enum":["a"]}`, `{"type":["string","null"],"enum":["a",null]}`},
		{"exclusive", `{"type":"integer","minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`, `{"type":"integer","exclusiveMinimum":0,"maximum":9}`},
		{"integer or string", `{"x-kubernetes-int-or-string":true}`, `{"type":["integer","string"]}`},
		{"with its types", `{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`, `{"anyOf":[{"type":"integer"},{"type":"string"}]}`},
		{"closed", `{"properties":{"a":{"properties":{}}}}`, `{"additionalProperties":false,"properties":{"a":{"additionalProperties":false,"properties":{}}}}`},
		{"map", `{"additionalProperties":{"properties":{"a":{}}}}`, `{"additionalProperties":{"additionalProperties":false,"properties":{"a":{}}}}`},
		{"list", `{"items":{"properties":{"a":{}}}}`, `{"items":{"additionalProperties":false,"properties":{"a":{}}}}`},
		{"open", `{"properties":{"a":{}},"x-kubernetes-preserve-unknown-fields":true}`, `{"properties":{"a":{}}}`},
		// A part of a combination names only the fields that it bounds.
		{"combination", `{"properties":{"a":{}},"oneOf":[{"required":["a"],"properties":{"a":{}}}],"not":{"properties":{"b":{}}}}`,
			`{"additionalProperties":false,"properties":{"a":{}},"oneOf":[{"required":["a"],"properties":{"a":{}}}],"not":{"properties":{"b":{}}}}`},
		{"null time", `{"type":"string","format":"date-time"}`, `{"type":["string","null"],"format":"date-time"}`},
	} {
		var got, want map[string]any
		if err := json.Unmarshal([]byte(test.in), &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		convert(got, true)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
	}
}
