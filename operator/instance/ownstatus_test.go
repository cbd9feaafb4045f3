package instance_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// statusModule has outputs with the names of fields of #Status. number is copied from the instance,
// by way of a live object.
const statusModule = `
package app

#Platform: {group: "GROUP", kind: "App"}
#Input: {text: string, number: string, note?: string}
#Status: {
	text?:   string
	number?: int
	foreign?: string
	note?: string
}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: {
		nodes: first: resource: {
			apiVersion: "v1"
			kind:       "ConfigMap"
			metadata: {name: input.metadata.name, namespace: input.metadata.namespace}
			data: {text: input.spec.text, number: input.spec.number}
		}
		outputs: {
			text:   "$from": "first.data.text"
			number: "$from": "first.data.number == 'none' ? dyn('none') : dyn(int(first.data.number))"
			other:  "other"
			if input.spec.note != _|_ {note: input.spec.note}
		}
	}
}
`

// Outputs with the names of fields of #Status become these fields, whatever others write, and
// the status says why if their values have another type.
func TestOwnStatus(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.platform(statusModule, v1alpha1.TransformSpec{})
	b.start(b.Config)
	has := func(name string, want map[string]any) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx ctx) error {
			obj, err := b.instances().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			status, _, _ := unstructured.NestedMap(obj.Object, "status")
			got := map[string]any{}
			for _, field := range []string{"foreign", "note", "number", "text", "other"} {
				if v, ok := status[field]; ok {
					got[field] = v
				}
			}
			if !reflect.DeepEqual(want, got) {
				return fmt.Errorf("the fields are %v; want %v; status %v", got, want, status)
			}
			return nil
		})
	}
	b.apply("web", "{text: one, number: '1', note: noted}")
	b.ready("web")
	has("web", map[string]any{"text": "one", "number": int64(1), "note": "noted"})

	// A field of another controller stays, a change of one with an output does not, and one
	// whose output is gone goes with it.
	patch := `{"status":{"foreign":"here","number":7}}`
	if _, err := b.instances().Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	has("web", map[string]any{"text": "one", "number": int64(1), "note": "noted", "foreign": "here"})
	b.apply("web", "{text: two, number: '2'}")
	has("web", map[string]any{"text": "two", "number": int64(2), "foreign": "here"})

	// A value of another type keeps the former ones, and the rest of the status is written.
	b.apply("web", "{text: three, number: none}")
	a := b.until("web", condition("True", "", `the outputs [number text] are not written to the fields of #Status: `))
	if a.Status.Outputs["text"] != "three" || a.Status.Outputs["number"] != "none" || a.Status.Phase != "Ready" {
		t.Errorf("status: %+v", a.Status)
	}
	has("web", map[string]any{"text": "two", "number": int64(2), "foreign": "here"})
	b.event("web", "StatusRefused: the outputs [number text] are not written")
	b.apply("web", "{text: four, number: '4'}")
	b.until("web", func(a *app) error {
		if c := a.Status.Conditions[0]; a.Status.ObservedGeneration != a.Generation || strings.Contains(c.Message, "outputs") {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	has("web", map[string]any{"text": "four", "number": int64(4), "foreign": "here"})
}
