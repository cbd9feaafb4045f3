package transform_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/operator/transform"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/harness"
)

// conditions returns the conditions of a Transform with their statuses and reasons.
func conditions(t *v1alpha1.Transform) map[string]string {
	all := map[string]string{}
	for _, c := range t.Status.Conditions {
		all[c.Type] = string(c.Status) + " " + c.Reason
	}
	return all
}

// kstatus returns what kstatus says about a Transform.
func kstatus(t testing.TB, transform *v1alpha1.Transform) status.Status {
	t.Helper()
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(transform)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: fields})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// TestReady makes a platform of a Transform, with all that the status shows.
func TestReady(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)+"#Status: url?: string\n"))
	got := b.ready("app")

	want := map[string]string{
		"CueFetched": "True Succeeded", "SchemaExtracted": "True Succeeded", "CRDGenerated": "True Succeeded",
		"RBACConfigured": "True Succeeded", "Ready": "True Succeeded",
	}
	if diff := cmp.Diff(want, conditions(got)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if s := kstatus(t, got); s != status.CurrentStatus {
		t.Errorf("kstatus: %s", s)
	}
	name := "apps." + b.group
	if got.Status.GeneratedCRD != name || got.Status.ResolvedCueRef == nil {
		t.Fatalf("status: %+v", got.Status)
	}
	// The CRD has the bytes that pequod crd generate prints, and the namespace of the Transform.
	fetched, err := b.fetcher.Fetch(t.Context(), got)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := b.loader.Load(t.Context(), worker.Key{}, fetched.Sources)
	if err != nil {
		t.Fatal(err)
	}
	live := b.crd(name)
	live.ObjectMeta = metav1.ObjectMeta{Name: live.Name, Labels: live.Labels, Annotations: live.Annotations}
	if got := live.Labels[v1alpha1.LabelTransformNamespace]; got != b.Namespace {
		t.Errorf("namespace of the Transform: %q", got)
	}
	delete(live.Labels, v1alpha1.LabelTransformNamespace)
	live.TypeMeta = loaded.CRD.TypeMeta
	live.Spec.Conversion = nil // a default of the API server
	printed, err := crdgen.Marshal(loaded.CRD)
	if err != nil {
		t.Fatal(err)
	}
	if stored, err := crdgen.Marshal(live); err != nil || !bytes.Equal(stored, printed) {
		t.Errorf("the CRD (-generated +stored): %v\n%s", err, cmp.Diff(string(printed), string(stored)))
	}
	entry := b.catalog.Get(schema.GroupKind{Group: b.group, Kind: "App"})
	if entry == nil || entry.UID != got.UID || entry.Digest != fetched.Digest || entry.Module.Digest != got.Status.ResolvedCueRef.Digest ||
		!slices.Equal(entry.StatusFields, []string{"url"}) {
		t.Errorf("entry of the catalog: %+v", entry)
	}
}

// TestRestart restarts the manager while nothing changes: it makes no request but the reads of
// informers.
func TestRestart(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	for i := range 5 {
		name := fmt.Sprint("app", i)
		b.create(b.transform(name, b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.Kind = fmt.Sprint("App", i) }))
	}
	var before []*v1alpha1.Transform
	for i := range 5 {
		before = append(before, b.ready(fmt.Sprint("app", i)))
	}
	b.stop()
	proxy.Reset()
	b.start(proxy.Config(b.Config))
	harness.Eventually(t, patience, func(context.Context) error {
		if n := len(b.catalog.Entries()); n != 5 {
			return fmt.Errorf("%d platforms", n)
		}
		return nil
	})
	b.stop()
	for _, r := range proxy.Requests() {
		review := r.Resource == "selfsubjectaccessreviews.authorization.k8s.io"
		if r.Verb != "list" && r.Verb != "watch" && !review && !r.Discovery() {
			t.Errorf("request: %+v", r)
		}
	}
	for i, old := range before {
		if now := b.ready(fmt.Sprint("app", i)); now.ResourceVersion != old.ResourceVersion {
			t.Errorf("%s was written: %s", now.Name, cmp.Diff(old.Status, now.Status))
		}
	}
}

// TestDrift changes and deletes the CRD of a platform: both are corrected.
func TestDrift(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	name := "apps." + b.group
	old := b.crd(name)
	changed := old.DeepCopy()
	changed.Spec.Names.ShortNames = []string{"other"}
	props := changed.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	spec := props["spec"]
	spec.Properties["other"] = spec.Properties["text"]
	props["spec"] = spec
	if err := b.client.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	corrected := func(ctx context.Context) error {
		now := b.crd(name)
		if now == nil || !apiequal(old.Spec, now.Spec) {
			return errors.New("not corrected")
		}
		return nil
	}
	harness.Eventually(t, patience, corrected)
	if err := b.client.Delete(t.Context(), b.crd(name)); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if now := b.crd(name); now == nil || now.UID == old.UID {
			return errors.New("not created again")
		}
		return corrected(ctx)
	})
	b.ready("app")
}

func apiequal(a, b any) bool { return cmp.Equal(a, b) }

// TestNotAllowed refuses a Transform outside of the manager's namespaces.
func TestNotAllowed(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	other := b.Unique("other")
	b.Apply(t, `{apiVersion: v1, kind: Namespace, metadata: {name: `+other+`}}`)
	app := b.transform("app", b.appModule(`text: string`))
	app.Namespace = other
	b.create(app)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if err := b.client.Get(ctx, types.NamespacedName{Namespace: other, Name: "app"}, app); err != nil {
			return err
		}
		if c := apimeta.FindStatusCondition(app.Status.Conditions, "Ready"); c == nil || c.Reason != v1alpha1.ReasonNamespaceNotAllowed {
			return fmt.Errorf("status: %+v", app.Status)
		}
		return nil
	})
	if s := kstatus(t, app); s != status.FailedStatus {
		t.Errorf("kstatus: %s", s)
	}
	if n := b.fetcher.count(); n > 0 || b.crd("apps."+b.group) != nil || len(app.Finalizers) > 0 {
		t.Errorf("%d fetches; finalizers %v", n, app.Finalizers)
	}
	if err := b.client.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
}

var _ transform.Fetcher = (*fetcher)(nil)
