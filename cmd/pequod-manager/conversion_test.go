package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// topicTransform is the Transform of a kind with two versions, which differ in their fields.
var topicTransform = fmt.Sprintf(`apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: topic, namespace: %s}
spec:
  managedResources: [{apiGroup: '', resources: [configmaps]}]
  cueRef:
    type: inline
    files:
    - name: topic.cue
      content: |
        package topic

        #Platform: kind: "Topic"
        #Versions: {
        	v1: {
        		storage: true
        		#Input: {retention: days: *7 | int, readers: [...string]}
        	}
        	v1alpha1: {
        		loses: ["spec.readers"]
        		#Input: {keepDays: *7 | int, reader: string}
        		#ToStorage: {
        			input: #Input
        			output: {retention: days: input.keepDays, readers: [input.reader]}
        		}
        		#FromStorage: {
        			input: #Versions.v1.#Input
        			output: {keepDays: input.retention.days, reader: input.readers[0]}
        		}
        	}
        }
        #Render: {
        	input: {metadata: {name: string, namespace: string}, spec: #Versions.v1.#Input}
        	output: nodes: config: resource: {
        		apiVersion: "v1"
        		kind:       "ConfigMap"
        		metadata: name: input.metadata.name
        		data: {days: "\(input.spec.retention.days)", first: input.spec.readers[0]}
        	}
        }
`, process.Namespace)

// TestConversion holds that instances can be written and read in all versions of their kind, and
// what happens to the definition when authorities, and the flag, change.
func TestConversion(t *testing.T) {
	t.Parallel()
	h := installHooks(t)
	ctx := t.Context()
	p := h.run(t)
	h.Apply(t, topicTransform)
	hasCondition(t, h.Cluster, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "topic", "Ready", "True", "")
	old, stored := h.Await(t, "pequod.io/v1alpha1", "Topic", h.Namespace), h.Await(t, "pequod.io/v1", "Topic", h.Namespace)
	spec := func(of dynamic.ResourceInterface, name string) string {
		t.Helper()
		object, err := of.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(object.Object["spec"])
	}
	topic := func(version, name, spec string) *unstructured.Unstructured {
		in := instanceOf(t, "Topic", name, spec)
		in.SetAPIVersion("pequod.io/" + version)
		return in
	}
	if _, err := apply(ctx, old, topic("v1alpha1", "first", "{reader: billing, keepDays: 30}")); err != nil {
		t.Fatal(err)
	}
	if _, err := apply(ctx, stored, topic("v1", "second", "{retention: {days: 3}, readers: [search]}")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		of         dynamic.ResourceInterface
		name, want string
	}{
		{old, "first", "map[keepDays:30 reader:billing]"}, {stored, "first", "map[readers:[billing] retention:map[days:30]]"},
		{old, "second", "map[keepDays:3 reader:search]"}, {stored, "second", "map[readers:[search] retention:map[days:3]]"},
	} {
		if got := spec(test.of, test.name); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	// The other versions read, and the manager renders, the values that one version writes.
	if _, err := stored.Patch(ctx, "first", types.MergePatchType, []byte(`{"spec": {"retention": {"days": 5}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := spec(old, "first"); got != "map[keepDays:5 reader:billing]" {
		t.Error(got)
	}
	all, err := old.List(ctx, metav1.ListOptions{})
	if err != nil || len(all.Items) != 2 || all.Items[0].GetAPIVersion() != "pequod.io/v1alpha1" {
		t.Errorf("%v, %v", all, err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		object, err := h.Client.CoreV1().ConfigMaps(h.Namespace).Get(ctx, "first", metav1.GetOptions{})
		if err == nil && (object.Data["days"] != "5" || object.Data["first"] != "billing") {
			err = fmt.Errorf("data: %v", object.Data)
		}
		return err
	})

	definitions := h.Await(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	conversion := func(ctx context.Context) (map[string]any, error) {
		crd, err := definitions.Get(ctx, "topics.pequod.io", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		c, _, err := unstructured.NestedMap(crd.Object, "spec", "conversion")
		return c, err
	}
	// Other authorities reach the definition.
	before, err := conversion(ctx)
	if err != nil || before["strategy"] != "Webhook" {
		t.Fatalf("%v, %v", before, err)
	}
	if err := h.Client.CoreV1().Secrets(process.Namespace).Delete(ctx, hooks.SecretOf(hooks.Manager), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		now, err := conversion(ctx)
		if err == nil && fmt.Sprint(now) == fmt.Sprint(before) {
			err = errors.New("the authorities are the old ones")
		}
		return err
	})
	harness.Eventually(t, patience, func(ctx context.Context) error {
		_, err := old.Get(ctx, "first", metav1.GetOptions{})
		return err
	})
	// Without the flag, API servers convert by themselves again.
	converts := func(strategy string) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			now, err := conversion(ctx)
			if err == nil && (now["strategy"] != strategy || (now["webhook"] == nil) != (strategy == "None")) {
				err = fmt.Errorf("conversion: %v", now)
			}
			return err
		})
	}
	p.Stop(t)
	p = start(t, h.Cluster)
	converts("None")
	if got := spec(stored, "second"); got != "map[readers:[search] retention:map[days:3]]" {
		t.Error(got)
	}
	hasCondition(t, h.Cluster, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, "topic", "Ready", "True", "")
	if _, err := old.Get(ctx, "first", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	// And without the manager.
	p.Stop(t)
	p = h.run(t)
	converts("Webhook")
	p.Stop(t)
	if out := process.Pequod(t, h.Cluster, 0, "uninstall", "--mode=operator", "--yes"); !strings.Contains(out, "customresourcedefinition.apiextensions.k8s.io/topics.pequod.io patched\n") {
		t.Error(out)
	}
	converts("None")
}
