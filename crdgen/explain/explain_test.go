package explain_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi/openapitest"
	kubectl "k8s.io/kubectl/pkg/explain/v2"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/crdgen/explain"
	"github.com/pequod-io/pequod/crdgen/openapi"
)

// definitions returns the CRDs of Pequod, and those of the other files of this package's
// tests.
func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob("../../config/crd/*_*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "../testdata/webservice.yaml", "testdata/everything.yaml")
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(data, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, crd)
	}
	return all
}

// paths returns the paths of all fields of a schema, "" for s itself included.
func paths(k openapi.Kind, s apiextensionsv1.JSONSchemaProps, at string) []string {
	all := []string{at}
	s = k.Resolve(s)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		all = append(all, paths(k, s.Properties[name], strings.TrimPrefix(at+"."+name, "."))...)
	}
	if s.Items != nil {
		all = append(all, paths(k, *s.Items.Schema, at)...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		all = append(all, paths(k, *s.AdditionalProperties.Schema, at)...)
	}
	for _, in := range s.AllOf {
		all = append(all, paths(k, in, at)...)
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// TestLikeKubectl compares the text of every field of every kind with the text that
// kubectl's own code prints for the schema that the API server's own code publishes.
func TestLikeKubectl(t *testing.T) {
	options := []explain.Options{{}, {Recursive: true}, {Recursive: true, MaxDepth: 2}}
	fields := 0
	for _, crd := range definitions(t) {
		for _, k := range openapi.Kinds(crd) {
			published, err := builder.BuildOpenAPIV3(crd, k.Version, builder.Options{})
			if err != nil {
				t.Fatal(err)
			}
			doc, err := json.Marshal(published)
			if err != nil {
				t.Fatal(err)
			}
			client := openapitest.NewFakeClient()
			client.PathsMap["apis/"+k.APIVersion()] = openapitest.FakeGroupVersion{GVSpec: doc}
			gvr := schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Plural}
			for _, path := range paths(k, k.Schema, "") {
				fields++
				for _, o := range options {
					var want, got bytes.Buffer
					names := strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
					if err := kubectl.PrintModelDescription(names, &want, client, gvr, o.Recursive, o.MaxDepth, "plaintext"); err != nil {
						t.Fatalf("%s.%s: %v", k.Kind, path, err)
					}
					f, err := explain.Find(k, names)
					if err != nil {
						t.Fatal(err)
					}
					if err := f.Write(&got, o); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want.String(), got.String()); diff != "" {
						t.Fatalf("%s.%s %+v: (-kubectl +got)\n%s", k.Kind, path, o, diff)
					}
				}
			}
		}
	}
	t.Logf("%d fields", fields)
	if fields < 500 {
		t.Errorf("only %d fields compared", fields)
	}
}
