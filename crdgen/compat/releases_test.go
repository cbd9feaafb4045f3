package compat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// release is a change of a definition with its right verdict; see
// testdata/releases.yaml.
type release struct {
	Name, Base, Verdict        string
	Silent                     bool
	Fields                     map[string]*props
	Required                   map[string][]string
	Definition, Versions, Copy json.RawMessage
	Spec                       any
}

// readYAML reads a file of testdata strictly.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(data, into); err != nil {
		t.Fatal(name, err)
	}
}

// merged returns a copy of v that is changed by a merge patch.
func merged[T any](t *testing.T, v *T, patch json.RawMessage) *T {
	t.Helper()
	if patch == nil {
		return v
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = jsonpatch.MergePatch(data, patch); err != nil {
		t.Fatal(err)
	}
	var out T
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return &out
}

// at calls f with the schema that contains the field at path, and its name.
func at(t *testing.T, s *props, path []string, f func(parent *props, name string)) {
	t.Helper()
	if len(path) == 1 && !strings.HasSuffix(path[0], "[]") {
		f(s, path[0])
		return
	}
	name, item := strings.CutSuffix(path[0], "[]")
	child, ok := s.Properties[name]
	if !ok {
		t.Fatalf("no field %s", path)
	}
	switch {
	case item && len(path) == 1:
		f(&props{Items: child.Items}, "[]")
	case item:
		at(t, child.Items.Schema, path[1:], f)
	default:
		at(t, &child, path[1:], f)
	}
	s.Properties[name] = child
}

// apply returns the changed definition.
func (r release) apply(t *testing.T, base *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := base.DeepCopy()
	target := &crd.Spec.Versions[0]
	if r.Copy != nil {
		crd.Spec.Versions = append(crd.Spec.Versions, *merged(t, target.DeepCopy(), r.Copy))
		crd.Spec.Versions[0].Storage = !crd.Spec.Versions[1].Storage
		target = &crd.Spec.Versions[1]
	}
	root := target.Schema.OpenAPIV3Schema
	for path, schema := range r.Fields {
		at(t, root, strings.Split(path, "."), func(parent *props, name string) {
			switch {
			case name == "[]":
				*parent.Items.Schema = *schema
			case schema == nil:
				delete(parent.Properties, name)
			default:
				if parent.Properties == nil {
					parent.Properties = map[string]props{}
				}
				parent.Properties[name] = *schema
			}
		})
	}
	for path, names := range r.Required {
		at(t, root, strings.Split(path, "."), func(parent *props, name string) {
			s := parent.Properties[name]
			s.Required = names
			parent.Properties[name] = s
		})
	}
	*target = *merged(t, target, r.Versions)
	return merged(t, crd, r.Definition)
}

// TestReleases judges changes in the shape of those between real releases. No
// breaking change may be missed, and no other one may be called breaking.
func TestReleases(t *testing.T) {
	bases := map[string]*apiextensionsv1.CustomResourceDefinition{}
	readYAML(t, "bases.yaml", &bases)
	var releases []release
	readYAML(t, "releases.yaml", &releases)
	for _, r := range releases {
		t.Run(r.Name, func(t *testing.T) {
			old := bases[r.Base]
			changed := r.apply(t, old)
			changes := Check(old, changed)
			verdict := "safe"
			if len(changes) > 0 {
				verdict = map[string]string{"error": "breaking", "warning": "warning", "note": "safe"}[changes[0].Severity.String()]
			}
			if verdict != r.Verdict || r.Silent && len(changes) > 0 {
				t.Errorf("%s, want %s:\n%s", verdict, r.Verdict, lines(changes))
			}
			if r.Spec != nil && !(accepts(t, old, r.Spec) && !accepts(t, changed, r.Spec)) {
				t.Error("the spec doesn't prove the verdict")
			}
		})
	}
	t.Logf("%d changes", len(releases))
}

// accepts reports whether an API server with the definition accepts a spec.
func accepts(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, spec any) bool {
	t.Helper()
	s := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	judge, err := newServer(&s)
	if err != nil {
		t.Fatal(err)
	}
	return judge.accepts(spec)
}
