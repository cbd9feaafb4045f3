package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	hooks "github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestInstancesAreChecked writes instances through the API server and a manager with the
// installed rights.
func TestInstancesAreChecked(t *testing.T) {
	h := installHooks(t)
	ctx := t.Context()
	p := h.run(t)
	h.Apply(t, rangeTransform("Span"))
	h.Apply(t, rangeTransform("Other"))
	spans, others := h.Await(t, "pequod.io/v1alpha1", "Span", h.Namespace), h.Await(t, "pequod.io/v1alpha1", "Other", h.Namespace)
	h.registered(t, "others.pequod.io", "spans.pequod.io")
	checked(t, spans, "Span")
	checked(t, others, "Other")

	t.Run("refused", func(t *testing.T) {
		for _, spec := range []string{"{min: 5, max: 1}", "{min: 5, max: -1}"} {
			in := instanceOf(t, "Span", "wrong", spec)
			_, err := apply(ctx, spans, in)
			want := `admission webhook "spans.pequod.io" denied the request: ` + validated(t, rangeTransform("Span"), in)
			if !apierrors.IsInvalid(err) || place.ReplaceAllString(err.Error(), "") != place.ReplaceAllString(want, "") {
				t.Errorf("%v\nwant %s", err, want)
			}
			var status *apierrors.StatusError
			if errors.As(err, &status) && (status.ErrStatus.Details == nil || len(status.ErrStatus.Details.Causes) == 0 || status.ErrStatus.Details.Causes[0].Field != "spec.max") {
				t.Errorf("details: %+v", status.ErrStatus.Details)
			}
		}
	})
	t.Run("defaults", func(t *testing.T) {
		// A default that depends on another field follows it: it isn't stored, neither by the
		// first apply nor by later ones, which change nothing else.
		for _, min := range []string{"5", "5", "50"} {
			stored, err := apply(ctx, spans, instanceOf(t, "Span", "good", "{min: "+min+"}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, found, _ := unstructured.NestedFieldNoCopy(stored.Object, "spec", "max"); found {
				t.Errorf("stored with a default: %v", stored.Object["spec"])
			}
			if copies, _, _ := unstructured.NestedInt64(stored.Object, "spec", "copies"); copies != 1 {
				t.Errorf("stored without the CRD's default: %v", stored.Object["spec"])
			}
			if generation := map[string]int64{"5": 1, "50": 2}[min]; stored.GetGeneration() != generation {
				t.Errorf("generation %d, want %d", stored.GetGeneration(), generation)
			}
		}
		harness.Eventually(t, patience, func(ctx context.Context) error {
			object, err := h.Client.CoreV1().ConfigMaps(h.Namespace).Get(ctx, "good", metav1.GetOptions{})
			if err == nil && object.Data["max"] != "60" {
				err = fmt.Errorf("data: %v", object.Data)
			}
			return err
		})
	})
	t.Run("not checked", func(t *testing.T) {
		// An instance that became wrong can still change in what rendering doesn't read.
		label := []byte(`{"metadata": {"labels": {"a": "b"}, "finalizers": ["example.com/a"]}}`)
		if _, err := spans.Patch(ctx, "good", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
		if err := spans.Delete(ctx, "good", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := spans.Patch(ctx, "good", types.MergePatchType, []byte(`{"spec": {"max": 1}, "metadata": {"finalizers": null}}`), metav1.PatchOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Run("Transforms", func(t *testing.T) {
		transforms := h.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
		for spec, want := range map[string]string{
			"{cueRef: {type: embedded, ref: webservise}}":                                    `spec.cueRef.ref: no embedded module "webservise"; there are: `,
			"{cueRef: {type: git, ref: 'http://example.com/a'}}":                             "spec.cueRef.ref: ",
			"{cueRef: {type: embedded, ref: webservice}, group: apps.k8s.io}":                "spec.group: the group apps.k8s.io is reserved",
			"{cueRef: {type: embedded, ref: webservice}, group: pequod.io, kind: Span}":      "spec.kind: CustomResourceDefinition spans.pequod.io exists: Transform pequod-system/span generates it",
			"{cueRef: {type: embedded, ref: webservice}, group: platform.x.io, kind: Thing}": "",
		} {
			object := map[string]any{}
			text := "apiVersion: platform.pequod.io/v1alpha1\nkind: Transform\nmetadata: {name: new, namespace: pequod-system}\nspec: " + spec
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			_, err := transforms.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), `admission webhook "transforms.platform.pequod.io" denied the request: `+want)) {
				t.Errorf("%s: %v\nwant %s", spec, err, want)
			}
		}
		elsewhere := h.Await(t, "platform.pequod.io/v1alpha1", "Transform", h.Namespace)
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(webService(h.Namespace)), &object); err != nil {
			t.Fatal(err)
		}
		_, err := elsewhere.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		if want := "metadata.namespace: Transforms of namespace " + h.Namespace + " are ignored"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	})
	t.Run("a module that runs for long", func(t *testing.T) {
		slow := make(chan error, 8)
		for i := range cap(slow) {
			go func() {
				_, err := apply(ctx, spans, instanceOf(t, "Span", fmt.Sprintf("slow-%d", i), "{min: 1}"), metav1.DryRunAll)
				slow <- err
			}()
		}
		for i := range 50 {
			began := time.Now()
			_, err := apply(ctx, others, instanceOf(t, "Other", "wrong", fmt.Sprintf("{min: %d, max: 1}", i+2)), metav1.DryRunAll)
			if !apierrors.IsInvalid(err) || time.Since(began) > 2*time.Second {
				t.Errorf("another platform: %v after %s", err, time.Since(began))
			}
		}
		for range cap(slow) {
			if err := <-slow; err != nil {
				t.Errorf("an instance that can't be checked: %v", err)
			}
		}
	})

	// Without the manager, nothing is refused, and what it would have refused is not rendered.
	p.Stop(t)
	wrong := instanceOf(t, "Other", "wrong", "{min: 5, max: 1}")
	if _, err := apply(ctx, others, wrong); err != nil {
		t.Errorf("while the manager doesn't run: %v", err)
	}
	h.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}")
	p = h.run(t)
	h.registered(t, "others.pequod.io", "spans.pequod.io")
	hasCondition(t, h.Cluster, "pequod.io/v1alpha1", "Other", h.Namespace, "wrong", "Ready", "False", "PolicyViolation")

	// A kind that goes takes its webhook along.
	transforms := h.Await(t, "platform.pequod.io/v1alpha1", "Transform", process.Namespace)
	if err := transforms.Delete(ctx, "span", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.registered(t, "others.pequod.io")

	// What is deleted comes back complete, whoever applies it again.
	if err := h.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(ctx, hooks.Manager, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	h.Configure(t)
	h.registered(t, "others.pequod.io")
	checked(t, others, "Other")
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, line := range p.Log.Lines() {
		if strings.Contains(line, "forbidden") {
			t.Errorf("a right is missing: %s", line)
		}
	}
}
