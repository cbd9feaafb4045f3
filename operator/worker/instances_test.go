package worker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/worker"
)

// versioned is a module with two versions that have a conversion, and one that has none.
const versioned = `
package shop

#Platform: kind: "Shop"
#Versions: {
	v1: {
		storage: true
		#Input: {image: string, replicas: *1 | int & >=0 & <=10, name: *image | string}
	}
	v1alpha1: {
		#Input: {container: string, count: *1 | int & >=0}
		#ToStorage: {
			input: #Input
			output: {image: input.container, replicas: input.count}
		}
		#FromStorage: {
			input: {...}
			output: {container: input.image, count: input.replicas}
		}
	}
	v1beta1: {served: false, #Input: {image: string}}
}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Versions.v1.#Input}
	output: {
		nodes: config: resource: {apiVersion: "v1", kind: "ConfigMap", metadata: name: input.metadata.name, data: image: input.spec.image}
		if input.spec.replicas == 7 {
			violations: [{message: "seven is unlucky", path: "spec.replicas"}]
		}
	}
}
`

// shopOf returns an instance of the module versioned.
func shopOf(version string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "pequod.io/" + version, "kind": "Shop",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "17", "managedFields": []any{map[string]any{"manager": "kubectl"}}},
		"spec":     spec, "status": map[string]any{"phase": "Ready"},
	}}
}

// TestConvert converts instances as a conversion webhook does.
func TestConvert(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute})
	key, _ := load(t, pool, "shop", inlined(versioned))
	type spec = map[string]any
	for name, c := range map[string]struct {
		from, to   string
		give, want spec
		err        string
	}{
		"to storage":   {"v1alpha1", "v1", spec{"container": "nginx", "count": int64(3)}, spec{"image": "nginx", "replicas": int64(3)}, ""},
		"from storage": {"v1", "v1alpha1", spec{"image": "nginx", "replicas": int64(3)}, spec{"container": "nginx", "count": int64(3)}, ""},
		"a default":    {"v1alpha1", "v1", spec{"container": "nginx"}, spec{"image": "nginx", "replicas": int64(1)}, ""},
		"no change":    {"v1", "v1", spec{"image": "nginx"}, spec{"image": "nginx"}, ""},
		"no conversion, of what the schema refuses": {"v1beta1", "v1", spec{"picture": "nginx"}, spec{"picture": "nginx"}, ""},
		"through storage": {"v1alpha1", "v1beta1", spec{"container": "nginx", "count": int64(3)}, spec{"image": "nginx", "replicas": int64(3)}, ""},
		"a wrong type":    {"v1alpha1", "v1", spec{"container": int64(1)}, nil, "#Versions.v1alpha1.#ToStorage.output: conflicting values"},
		"no such version": {"v1", "v7", spec{"image": "nginx"}, nil, "apiVersion: Shop.pequod.io has no version v7"},
	} {
		t.Run(name, func(t *testing.T) {
			in := shopOf(c.from, c.give)
			before := in.DeepCopy()
			got, err := pool.Convert(t.Context(), key, []*unstructured.Unstructured{in, in}, c.to)
			if diff := cmp.Diff(before, in); diff != "" {
				t.Errorf("the argument was changed:\n%s", diff)
			}
			var problems problem.List
			if c.err != "" {
				if !errors.As(err, &problems) || !containsProblem(problems, c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := shopOf(c.to, c.want)
			if diff := cmp.Diff([]*unstructured.Unstructured{want, want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// containsProblem reports whether a problem begins with a text.
func containsProblem(problems problem.List, text string) bool {
	for _, p := range problems {
		if s := p.Path + ": " + p.Message; len(s) >= len(text) && s[:len(text)] == text {
			return true
		}
	}
	return false
}

func TestValidate(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute})
	key, _ := load(t, pool, "shop", inlined(versioned))
	for name, c := range map[string]struct {
		spec map[string]any
		want string
	}{
		"valid":       {map[string]any{"image": "nginx"}, ""},
		"a violation": {map[string]any{"image": "nginx", "replicas": int64(7)}, "spec.replicas: seven is unlucky"},
		"a typo":      {map[string]any{"imag": "nginx"}, `spec.imag: unknown field`},
	} {
		problems, err := pool.Validate(t.Context(), key, shopOf("v1", c.spec), "")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if problems.Failed() != (c.want != "") || c.want != "" && !containsProblem(problems, c.want) {
			t.Errorf("%s: %v", name, problems)
		}
		for _, p := range problems {
			if p.Position.File != "" {
				t.Errorf("%s: %v has a position in a text that no user has", name, p)
			}
		}
	}
}
