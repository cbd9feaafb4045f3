package fields

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

func decode(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return u
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  finalizers: [a/b, c/d]
  labels: {app: web, added: by-others}
  managedFields:
  - manager: pequod
    operation: Apply
    apiVersion: apps/v1
    fieldsV1:
      f:metadata:
        f:labels: {f:app: {}}
        f:finalizers: {'v:"c/d"': {}}
      f:spec:
        f:replicas: {}
        f:template:
          f:spec:
            f:containers:
              'k:{"name":"web"}':
                .: {}
                f:image: {}
                f:ports:
                  'k:{"containerPort":80,"protocol":"TCP"}': {.: {}, f:containerPort: {}, f:name: {}}
                f:args: {}
  - manager: hpa
    operation: Update
    subresource: scale
    fieldsV1: {f:spec: {f:replicas: {}}}
  - manager: broken
    operation: Update
spec:
  replicas: 2
  template:
    spec:
      containers:
      - {name: sidecar, image: others}
      - name: web
        image: nginx
        args: [a, b]
        ports: [{containerPort: 80, protocol: TCP, name: http}, {containerPort: 81, protocol: TCP}]
status: {replicas: 2}
`

// edited returns the Deployment after a change to its decoded JSON.
func edited(t testing.TB, change func(map[string]any)) *unstructured.Unstructured {
	u := decode(t, deployment)
	change(u.Object)
	return u
}

func container(o map[string]any, i int) map[string]any {
	list, _, _ := unstructured.NestedFieldNoCopy(o, "spec", "template", "spec", "containers")
	return list.([]any)[i].(map[string]any)
}

func ports(o map[string]any) []any { return container(o, 1)["ports"].([]any) }

func TestOwnedDigest(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(map[string]any)
		ignore  string
		changed bool
	}{
		{"nothing", func(map[string]any) {}, "", false},
		{"status", func(o map[string]any) { o["status"] = map[string]any{"replicas": int64(5)} }, "", false},
		{"a label of another manager", func(o map[string]any) { o["metadata"].(map[string]any)["labels"].(map[string]any)["new"] = "x" }, "", false},
		{"a label", func(o map[string]any) { o["metadata"].(map[string]any)["labels"].(map[string]any)["app"] = "x" }, "", true},
		{"a label is removed", func(o map[string]any) { delete(o["metadata"].(map[string]any)["labels"].(map[string]any), "app") }, "", true},
		{"replicas", func(o map[string]any) { o["spec"].(map[string]any)["replicas"] = int64(3) }, "", true},
		{"ignored replicas", func(o map[string]any) { o["spec"].(map[string]any)["replicas"] = int64(3) }, "spec.replicas", false},
		{"ignored above", func(o map[string]any) { o["spec"].(map[string]any)["replicas"] = int64(3) }, "spec", false},
		{"a number as a float", func(o map[string]any) { o["spec"].(map[string]any)["replicas"] = float64(2) }, "", false},
		{"a key as a float", func(o map[string]any) { ports(o)[0].(map[string]any)["containerPort"] = float64(80) }, "", false},
		{"another container", func(o map[string]any) { container(o, 0)["image"] = "x" }, "", false},
		{"containers change order", func(o map[string]any) {
			list := o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
			list[0], list[1] = list[1], list[0]
		}, "", false},
		{"the image", func(o map[string]any) { container(o, 1)["image"] = "x" }, "", true},
		{"the image, ignored by name", func(o map[string]any) { container(o, 1)["image"] = "x" }, "spec.template.spec.containers[name=web].image", false},
		{"the image, ignored by index", func(o map[string]any) { container(o, 1)["image"] = "x" }, "spec.template.spec.containers[1].image", false},
		{"the image, ignored by pointer", func(o map[string]any) { container(o, 1)["image"] = "x" }, "/spec/template/spec/containers/1/image", false},
		{"the image, another ignored", func(o map[string]any) { container(o, 1)["image"] = "x" }, "spec.template.spec.containers[0].image", true},
		{"an item of an atomic list", func(o map[string]any) { container(o, 1)["args"] = []any{"a"} }, "", true},
		{"a port's name", func(o map[string]any) { ports(o)[0].(map[string]any)["name"] = "x" }, "", true},
		{"a port's name, ignored by one key", func(o map[string]any) { ports(o)[0].(map[string]any)["name"] = "x" },
			"spec.template.spec.containers[name=web].ports[containerPort=80].name", false},
		{"a port of another manager", func(o map[string]any) { ports(o)[1].(map[string]any)["name"] = "x" }, "", false},
		{"the port is removed", func(o map[string]any) { container(o, 1)["ports"] = ports(o)[1:] }, "", true},
		{"a value of a set is removed", func(o map[string]any) { o["metadata"].(map[string]any)["finalizers"] = []any{"a/b"} }, "", true},
		{"another value of the set is removed", func(o map[string]any) { o["metadata"].(map[string]any)["finalizers"] = []any{"c/d"} }, "", false},
		{"the manager loses a field", func(o map[string]any) {
			entry := o["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)
			delete(entry["fieldsV1"].(map[string]any)["f:spec"].(map[string]any), "f:replicas")
		}, "", true},
		{"the manager loses an ignored field", func(o map[string]any) {
			entry := o["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)
			delete(entry["fieldsV1"].(map[string]any)["f:spec"].(map[string]any), "f:replicas")
		}, "spec.replicas", false},
	} {
		var ignore []Path
		if test.ignore != "" {
			path, err := Parse(test.ignore)
			if err != nil {
				t.Fatal(err)
			}
			ignore = []Path{path}
		}
		before, err := OwnedDigest(decode(t, deployment), "pequod", ignore)
		if err != nil {
			t.Fatal(err)
		}
		u := edited(t, test.change)
		whole, _ := json.Marshal(u.Object)
		after, err := OwnedDigest(u, "pequod", ignore)
		if err != nil {
			t.Fatal(err)
		}
		if before == "" || (before != after) != test.changed {
			t.Errorf("%s: %s, was %s; want a change: %t", test.name, after, before, test.changed)
		}
		if again, _ := json.Marshal(u.Object); string(again) != string(whole) {
			t.Errorf("%s: the object was changed", test.name)
		}
	}
}

func TestOwnedDigestEntries(t *testing.T) {
	u := decode(t, deployment)
	for _, manager := range []string{"hpa", "broken", "absent"} {
		if digest, err := OwnedDigest(u, manager, nil); digest != "" || err != nil {
			t.Errorf("%s applied nothing: %q, %v", manager, digest, err)
		}
	}
	// Fields that were applied with two API versions are in two entries, in any order.
	entry := u.Object["metadata"].(map[string]any)["managedFields"].([]any)
	second := runtime.DeepCopyJSONValue(entry[0]).(map[string]any)
	second["apiVersion"] = "apps/v1beta1"
	second["fieldsV1"] = map[string]any{"f:spec": map[string]any{"f:paused": map[string]any{}}}
	one, _ := OwnedDigest(u, "pequod", nil)
	u.Object["metadata"].(map[string]any)["managedFields"] = []any{entry[0], second}
	two, _ := OwnedDigest(u, "pequod", nil)
	u.Object["metadata"].(map[string]any)["managedFields"] = []any{second, entry[0]}
	swapped, _ := OwnedDigest(u, "pequod", nil)
	u.Object["spec"].(map[string]any)["paused"] = true
	paused, _ := OwnedDigest(u, "pequod", nil)
	if one == two || two != swapped || paused == two {
		t.Errorf("one %s, two %s, swapped %s, and with a change in the second %s", one, two, swapped, paused)
	}
}

func TestOwns(t *testing.T) {
	entries := Entries(decode(t, deployment))
	if len(entries) != 2 {
		t.Fatalf("%d entries; the broken entry must be left out", len(entries))
	}
	for text, want := range map[string]bool{
		"spec.replicas":         true,
		"spec":                  true,
		"spec.paused":           false,
		"metadata.labels.app":   true,
		"metadata.labels.added": false,
		"spec.template.spec.containers[name=web]":                          true,
		"spec.template.spec.containers[name=sidecar]":                      false,
		"spec.template.spec.containers[1].image":                           true,
		"spec.template.spec.containers[0].image":                           false,
		"spec.template.spec.containers[image=nginx].args":                  true,
		"/spec/template/spec/containers/1/args/0":                          true, // atomic: owned as a whole
		"spec.template.spec.containers[name=web].ports[containerPort=80]":  true,
		"spec.template.spec.containers[name=web].ports[containerPort=81]":  false,
		"spec.template.spec.containers[name=web].ports[name=http].name":    true,
		"metadata.finalizers[1]":                                           true,
		"metadata.finalizers[0]":                                           false,
		"spec.template.spec.containers[7].image":                           false,
		"spec.template.spec.containers[name=web].ports[protocol=UDP].name": false,
	} {
		path, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := entries[0].Owns(path); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
	if !entries[0].AppliedBy("pequod") || entries[0].AppliedBy("hpa") || entries[1].AppliedBy("hpa") {
		t.Error("AppliedBy is wrong")
	}
}

func TestSetAndRemoveValue(t *testing.T) {
	const before = `{"list":[{"name":"a","x":1},{"name":"b"}],"set":["u","v"],"spec":{"n":1},"text":"t","zero":null}`
	for _, test := range []struct{ path, set, unset string }{
		{"spec.n", `"spec":{"n":"new"}`, `"spec":{}`},
		{"spec.m.k", `"spec":{"m":{"k":"new"},"n":1}`, ""},
		{"zero.k", `"zero":{"k":"new"}`, ""},
		{"list[name=a].x", `"list":[{"name":"a","x":"new"},{"name":"b"}]`, `"list":[{"name":"a"},{"name":"b"}]`},
		{"list[1].x", `"list":[{"name":"a","x":1},{"name":"b","x":"new"}]`, ""},
		{"/list/0", `"list":["new",{"name":"b"}]`, `"list":[{"name":"b"}]`},
		{"list[name=b]", `"list":[{"name":"a","x":1},"new"]`, `"list":[{"name":"a","x":1}]`},
		{"list[name=c]", `"list":[{"name":"a","x":1},{"name":"b"},"new"]`, ""},
		{"list[name=c].x", "", ""},
		{"list[5]", "", ""},
		{"text.k", "", ""},
		{"text[0]", "", ""},
		{"set[0]", `"set":["new","v"]`, `"set":["v"]`},
	} {
		path, err := Parse(test.path)
		if err != nil {
			t.Fatal(err)
		}
		for verb, want := range map[string]string{"set": test.set, "unset": test.unset} {
			u := map[string]any{}
			if err := json.Unmarshal([]byte(before), &u); err != nil {
				t.Fatal(err)
			}
			expected := map[string]any{}
			_ = json.Unmarshal([]byte(before), &expected)
			if want != "" {
				if err := json.Unmarshal([]byte("{"+want+"}"), &expected); err != nil {
					t.Fatal(err)
				}
			}
			if verb == "unset" {
				RemoveValue(u, path)
			} else if ok := SetValue(u, path, "new"); ok != (want != "") {
				t.Errorf("set %s: %t", test.path, ok)
			}
			if diff := cmp.Diff(expected, u); diff != "" {
				t.Errorf("%s %s (-want +got):\n%s", verb, test.path, diff)
			}
		}
	}
}

func TestValue(t *testing.T) {
	u := decode(t, deployment)
	for text, want := range map[string]any{
		"spec.replicas": int64(2),
		"spec.template.spec.containers[name=web].image": "nginx",
		"/spec/template/spec/containers/0/image":        "others",
		"spec.nothing":                                  nil,
		"spec.replicas.x":                               nil,
		"metadata.name[0]":                              nil,
	} {
		path, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Value(u, path); got != want || ok != (want != nil) {
			t.Errorf("%s: %v, %t; want %v", text, got, ok, want)
		}
	}
}

func BenchmarkOwnedDigest(b *testing.B) {
	u := decode(b, deployment)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := OwnedDigest(u, "pequod", nil); err != nil {
			b.Fatal(err)
		}
	}
}
