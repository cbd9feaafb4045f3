package fields

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Path{
		"spec.replicas":                                  {"f:spec", "f:replicas"},
		".spec.replicas":                                 {"f:spec", "f:replicas"},
		`metadata.annotations["a.b/c"]`:                  {"f:metadata", "f:annotations", "f:a.b/c"},
		`metadata.annotations["a\"b"].x`:                 {"f:metadata", "f:annotations", `f:a"b`, "f:x"},
		"spec.containers[name=web].image":                {"f:spec", "f:containers", `k:{"name":"web"}`, "f:image"},
		`spec.containers[name="web"].image`:              {"f:spec", "f:containers", `k:{"name":"web"}`, "f:image"},
		"spec.ports[containerPort=80]":                   {"f:spec", "f:ports", `k:{"containerPort":80}`},
		`spec.ports[name="80"]`:                          {"f:spec", "f:ports", `k:{"name":"80"}`},
		"webhooks[0].clientConfig.caBundle":              {"f:webhooks", "i:0", "f:clientConfig", "f:caBundle"},
		"webhooks[007]":                                  {"f:webhooks", "i:7"},
		"a[0][1]":                                        {"f:a", "i:0", "i:1"},
		"/spec/replicas":                                 {"f:spec", "f:replicas"},
		"/metadata/annotations/a.b~1c~0d":                {"f:metadata", "f:annotations", "f:a.b/c~d"},
		"/webhooks/0/clientConfig":                       {"f:webhooks", "i:0", "f:clientConfig"},
		`["spec"].replicas`:                              {"f:spec", "f:replicas"},
		"spec.template.spec.containers[name=a.b/c].args": {"f:spec", "f:template", "f:spec", "f:containers", `k:{"name":"a.b/c"}`, "f:args"},
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":              `field "": has an empty name`,
		".":             `field ".": has an empty name`,
		"a.":            `field "a.": has an empty name`,
		"a..b":          `field "a..b": has an empty name`,
		"a[0]..b":       `field "a[0]..b": has an empty name`,
		"a[0].":         `field "a[0].": a bracket is followed by "."`,
		"a[0]b":         `field "a[0]b": a bracket is followed by "b"`,
		"a[":            `field "a[": a bracket isn't closed`,
		`a["b`:          `field "a[\"b": a quoted name isn't closed`,
		`a["b"`:         `field "a[\"b\"": a quoted name isn't closed`,
		"a[x]":          `field "a[x]": [x] is neither an index nor name=value`,
		"a[-1]":         `field "a[-1]": [-1] is neither an index nor name=value`,
		"a[=x]":         `field "a[=x]": [=x] is neither an index nor name=value`,
		"a[9999999999]": `field "a[9999999999]": [9999999999] is neither an index nor name=value`,
		"/":             `field "/": has an empty name`,
		"/a//b":         `field "/a//b": has an empty name`,
	} {
		if got, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, error %v; want %s", text, got, err, want)
		}
	}
}

func TestPathString(t *testing.T) {
	for want, path := range map[string]Path{
		"spec.replicas":                         {"f:spec", "f:replicas"},
		`metadata.annotations["a.b/c"]`:         {"f:metadata", "f:annotations", "f:a.b/c"},
		"spec.containers[name=web].image":       {"f:spec", "f:containers", `k:{"name":"web"}`, "f:image"},
		`ports[{"port":80,"protocol":"TCP"}]`:   {"f:ports", `k:{"port":80,"protocol":"TCP"}`},
		`metadata.finalizers[="example.com/x"]`: {"f:metadata", "f:finalizers", `v:"example.com/x"`},
		"webhooks[0].name":                      {"f:webhooks", "i:0", "f:name"},
	} {
		if got := path.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Parse returns an error or a usable path for any input.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"spec.replicas", `a["b"].c`, "a[name=b].c", "a[0]", "/a/0/b", "..", "a[", `a["`, "[x=1]", `a[b="c"]`, "a]b", "\x00.é", "/~0~1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := Parse(text)
		if err != nil {
			return
		}
		if len(path) == 0 {
			t.Fatalf("%q: an empty path, and no error", text)
		}
		for _, key := range path {
			if kind, rest, ok := strings.Cut(key, ":"); !ok || rest == "" && kind != "f" {
				t.Fatalf("%q: key %q", text, key)
			}
		}
		object := map[string]any{"a": []any{map[string]any{"b": "c"}}, "spec": map[string]any{}}
		_ = path.String()
		SetValue(object, path, "x")
		RemoveValue(object, path)
	})
}
