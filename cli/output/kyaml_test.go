package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// awkward are values that YAML reads as something else if they are not quoted, or
// that break a line.
var awkward = map[string]any{
	"no": "no", "on": "1e3", "0x10": "0x10", "~": "null", "": "", "2026-01-02": "2026-01-02", "a: b": "- x", "'": `"`, "=": "<<",
	"text":    "one\n  two\n\n\tthree \n",
	"script":  "#!/bin/sh\nset -e\n$(x) ${y} %z \\n",
	"hostile": "\x1b[31m\u2028\u202e\U0001f4a5 --- {{ }} # no comment",
	"number":  int64(9007199254740993), "negative": int64(-1), "half": 0.5, "small": 1e-9,
	"yes": true, "nothing": nil, "list": []any{"1", int64(1), []any{}, map[string]any{}, nil},
}

// TestKYAMLRoundTrip checks that objects come back from KYAML as they were, with the
// reader of kubectl and with that of streams of documents.
func TestKYAMLRoundTrip(t *testing.T) {
	objects := []map[string]any{
		{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": awkward},
		{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "b"}},
	}
	var encoded [][]byte
	for _, o := range objects {
		data, err := Encode("kyaml", o, "")
		if err != nil {
			t.Fatal(err)
		}
		back, err := yaml.YAMLToJSONStrict(data)
		if err != nil {
			t.Fatalf("%v:\n%s", err, data)
		}
		var got map[string]any
		if err := utiljson.Unmarshal(back, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		encoded = append(encoded, data)
	}
	var out bytes.Buffer
	if err := Print(&out, "kyaml", encoded); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "---\n{\n") {
		t.Errorf("KYAML begins with a document separator and a brace:\n%s", out.String())
	}
	documents := utilyaml.NewYAMLOrJSONDecoder(&out, 4096)
	for _, want := range objects {
		var got json.RawMessage
		if err := documents.Decode(&got); err != nil {
			t.Fatal(err)
		}
		var generic map[string]any
		if err := utiljson.Unmarshal(got, &generic); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, generic); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
