package resolve

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/reference"
)

const generated = `
nodes:
- id: secret
  applyPolicy: {mode: Create}
  resource:
    apiVersion: v1
    kind: Secret
    metadata: {name: secret}
    stringData: {user: admin, password: {$generate: {length: 40}}, pin: {$generate: {length: 4, charset: numeric}}}
`

func TestGenerate(t *testing.T) {
	r := resolver(t, generated)
	preview, err := r.Preview(0, live(t, "{}"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"user": "admin"}, preview.Object.Object["stringData"]); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	const why = "is generated when the object is created"
	if diff := cmp.Diff([]string{"stringData.password: " + why, "stringData.pin: " + why}, lines(preview.Unknown)); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
	seen := map[any]bool{}
	for range 20 {
		object, err := r.Object(0, live(t, "{}"))
		if err != nil {
			t.Fatal(err)
		}
		if err := Generate(object, r.graph.Nodes[0].Generates); err != nil {
			t.Fatal(err)
		}
		data := object.Object["stringData"].(map[string]any)
		password, _ := data["password"].(string)
		pin, _ := data["pin"].(string)
		if len(password) != 40 || strings.Trim(password, reference.Characters("alphanumeric")) != "" {
			t.Errorf("password %q", password)
		}
		if len(pin) != 4 || strings.Trim(pin, "0123456789") != "" {
			t.Errorf("pin %q", pin)
		}
		if data["user"] != "admin" || seen[password] {
			t.Errorf("stringData %v, seen before %t", data, seen[password])
		}
		seen[password] = true
	}
	if err := Generate(preview.Object, []reference.Generate{{Length: 3, Charset: "klingon"}}); err == nil {
		t.Error("an unknown set was taken")
	}
}

// Taking bytes modulo 62 would make the first characters of a set of 62 a quarter
// more frequent. The bounds are ten standard deviations wide.
func TestGenerateUniformly(t *testing.T) {
	for _, name := range reference.Charsets() {
		charset := reference.Characters(name)
		n := 4000 * len(charset)
		counts := map[rune]int{}
		for _, c := range randomText(charset, n) {
			counts[c]++
		}
		for _, c := range charset {
			if counts[c] < 3370 || counts[c] > 4630 {
				t.Errorf("%s: %q came %d times of 4000", name, c, counts[c])
			}
		}
	}
}
