package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestMoveStringData(t *testing.T) {
	for _, test := range []struct{ name, secret, want, err string }{
		{"moved", "{stringData: {a: x}}", "{data: {a: eA==}}", ""},
		{"over data", "{stringData: {a: x}, data: {a: eQ==, b: eQ==}}", "{data: {a: eA==, b: eQ==}}", ""},
		{"empty", "{stringData: {}, data: {b: eQ==}}", "{data: {b: eQ==}}", ""},
		{"empty value", "{stringData: {a: ''}}", "{data: {a: ''}}", ""},
		{"none", "{data: {b: eQ==}}", "{data: {b: eQ==}}", ""},
		{"other fields, also unknown ones", "{stringData: {a: x}, type: Opaque, immutable: true, nope: 1, metadata: {name: s, labels: {}}}",
			"{data: {a: eA==}, type: Opaque, immutable: true, nope: 1, metadata: {name: s, labels: {}}}", ""},
		{"without data", "{stringData: {a: x}, data: null}", "{data: {a: eA==}}", ""},
		{"no string", "{stringData: {a: 1}}", "{stringData: {a: 1}}", "stringData.a is not a string"},
		{"invalid value", "{stringData: {a: x}, data: {b: '%'}}", "{data: {a: eA==, b: '%'}}", ""},
		{"invalid data", "{stringData: {a: x}, data: [b]}", "{stringData: {a: x}, data: [b]}", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			read := func(text string) (object map[string]any) {
				if err := yaml.Unmarshal([]byte(text), &object); err != nil {
					t.Fatal(err)
				}
				return object
			}
			secret := read(test.secret)
			message := ""
			if err := moveStringData(secret); err != nil {
				message = err.Error()
			}
			if diff := cmp.Diff(read(test.want), secret); diff != "" || message != test.err {
				t.Errorf("error %q (-want +got):\n%s", message, diff)
			}
		})
	}
}
