package objectdiff

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestSecretsDontPrint(t *testing.T) {
	v := map[string]any{"a": secret{"hunter2"}, "b": []any{secret{"hunter2"}}}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(data), strings.Join(block(v), "\n"), inline(v)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, secret{"hunter2"}))
	}
	for _, text := range texts {
		if strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") || !strings.Contains(text, mask) {
			t.Errorf("printed: %s", text)
		}
	}
}

func TestMasks(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	for _, test := range []struct {
		name   string
		object map[string]any
		// The values at the paths in masked must be masked, those in open not.
		masked, open []string
	}{
		{"data and stringData", map[string]any{
			"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
			"data": map[string]any{"a": encoded}, "stringData": map[string]any{"b": "hunter2"},
		}, []string{"data.a", "stringData.b"}, []string{"type"}},
		{"wrong types", map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"data": "hunter2", "stringData": map[string]any{"n": int64(5), "m": map[string]any{"deep": "hunter2"}},
		}, []string{"data", "stringData.n", "stringData.m.deep"}, nil},
		{"annotations that contain a value", map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": encoded},
			"metadata": map[string]any{"annotations": map[string]any{
				"plain": "is hunter2", "encoded": "is " + encoded, "json": `{"x": 1}`, "other": "fine",
				"kubectl.kubernetes.io/last-applied-configuration": "H4sI",
			}},
		}, []string{
			"metadata.annotations.plain", "metadata.annotations.encoded", "metadata.annotations.json",
			"metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
		}, []string{"metadata.annotations.other"}},
		{"last applied configuration of other kinds", map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "open"},
			"metadata": map[string]any{"annotations": map[string]any{"kapp.k14s.io/original": "x"}},
		}, []string{"metadata.annotations.kapp.k14s.io/original"}, []string{"data.a"}},
		{"inside another object", map[string]any{
			"apiVersion": "example.com/v1", "kind": "Wrapper",
			"spec": []any{map[string]any{"apiVersion": "v1", "kind": "Secret", "data": map[string]any{"a": encoded}}},
		}, []string{"spec.0.data.a"}, []string{"spec.0.kind"}},
		{"another group's Secret", map[string]any{
			"apiVersion": "example.com/v1", "kind": "Secret", "data": map[string]any{"a": "open"},
		}, nil, []string{"data.a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			hidden := map[string]bool{}
			var walk func(path string, v any)
			walk = func(path string, v any) {
				switch v := v.(type) {
				case map[string]any:
					for k, item := range v {
						walk(strings.TrimPrefix(path+"."+k, "."), item)
					}
				case []any:
					for i, item := range v {
						walk(fmt.Sprintf("%s.%d", path, i), item)
					}
				default:
					_, hidden[path] = v.(secret)
				}
			}
			walk("", normalize(Key{}, test.object, false))
			for _, path := range test.masked {
				if !hidden[path] {
					t.Errorf("%s is not masked", path)
				}
			}
			for _, path := range test.open {
				if is, ok := hidden[path]; is || !ok {
					t.Errorf("%s is masked or missing", path)
				}
			}
		})
	}
}
