package transform_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/harness"
)

// TestFetchErrors lets fetches fail by each cause: conditions and Events name it, transient
// errors are repeated, and the last good version stays.
func TestFetchErrors(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	good := b.ready("app")
	kind := schema.GroupKind{Group: b.group, Kind: "App"}
	entry := b.catalog.Get(kind)
	for _, cause := range []oci.Cause{oci.Unauthorized, oci.NotFound, oci.DigestMismatch, oci.WrongType} {
		b.fetcher.set(&oci.Error{Cause: cause, Ref: "oci://example.com/app:v1", Message: "it is " + string(cause)}, "")
		b.edit("app", func(t *v1alpha1.Transform) {
			t.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: string(cause)}
		})
		got := b.blocked("app", "CueFetched", string(cause), "it is "+string(cause))
		if s := kstatus(t, got); s != status.FailedStatus || got.Status.Phase != v1alpha1.TransformFailed {
			t.Errorf("%s: kstatus %s, phase %s", cause, s, got.Status.Phase)
		}
		if c := conditions(got); c["CRDGenerated"] != "True Succeeded" || got.Status.GeneratedCRD != good.Status.GeneratedCRD {
			t.Errorf("%s: conditions %v", cause, c)
		}
		b.event("app", "CueFetchFailed", "it is "+string(cause))
	}
	for _, cause := range []oci.Cause{oci.RateLimited, oci.Unavailable} {
		b.fetcher.set(&oci.Error{Cause: cause, Ref: "oci://example.com/app:v1", Message: "it is " + string(cause)}, "")
		b.edit("app", func(t *v1alpha1.Transform) {
			t.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: string(cause)}
		})
		got := b.blocked("app", "CueFetched", string(cause), "it is "+string(cause))
		if s := kstatus(t, got); s != status.InProgressStatus || got.Status.Phase != v1alpha1.TransformFetching {
			t.Errorf("%s: kstatus %s, phase %s", cause, s, got.Status.Phase)
		}
		n := b.fetcher.count()
		harness.Eventually(t, patience, func(context.Context) error {
			if again := b.fetcher.count(); again < n+3 {
				return fmt.Errorf("%d fetches", again)
			}
			return nil
		})
	}
	if now := b.catalog.Get(kind); now != entry {
		t.Errorf("entry of the catalog: %+v", now)
	}
	// No request causes this fetch: it is the repetition of a transient error.
	b.fetcher.set(nil, "")
	got := b.ready("app")
	if got.Status.LastHandledReconcileAt != string(oci.Unavailable) {
		t.Errorf("handled %q", got.Status.LastHandledReconcileAt)
	}
}

// TestRetryAfter respects the time that a registry demands.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.Concurrent = 1
	b.start(b.Config)
	b.fetcher.set(&oci.Error{Cause: oci.RateLimited, Ref: "oci://example.com/app:v1", Message: "slowly", RetryAfter: time.Hour}, "")
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.blocked("app", "CueFetched", "RateLimited", "slowly")
	n := b.fetcher.count()
	// The status is written by another reconciliation than the one that counts, if any.
	b.edit("app", func(t *v1alpha1.Transform) { t.Labels = map[string]string{"some": "label"} })
	b.create(b.transform("other", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.Kind = "Other" }))
	b.blocked("other", "CueFetched", "RateLimited", "slowly")
	if again := b.fetcher.count(); again != n+1 {
		t.Errorf("%d fetches; want %d", again, n+1)
	}
}

// TestInvalidModule reports the problems of a module, and keeps the last good version, also
// after a restart.
func TestInvalidModule(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	good := b.ready("app")
	kind := schema.GroupKind{Group: b.group, Kind: "App"}
	entry := b.catalog.Get(kind)
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = b.appModule(`text: nothing`) })
	invalid := func() *v1alpha1.Transform {
		return b.blocked("app", "SchemaExtracted", "InvalidModule", `reference "nothing" not found`)
	}
	got := invalid()
	if s := kstatus(t, got); s != status.FailedStatus {
		t.Errorf("kstatus: %s", s)
	}
	if got.Status.ResolvedCueRef.Digest != good.Status.ResolvedCueRef.Digest || b.crd(good.Status.GeneratedCRD) == nil {
		t.Errorf("status: %+v", got.Status)
	}
	b.event("app", "CueRenderFailed", `reference "nothing" not found`)
	if now := b.catalog.Get(kind); now != entry {
		t.Errorf("entry of the catalog: %+v", now)
	}
	b.stop()
	b.start(b.Config)
	harness.Eventually(t, patience, func(context.Context) error {
		if now := b.catalog.Get(kind); now == nil || now.Digest != entry.Digest || now.Module != entry.Module {
			return fmt.Errorf("entry of the catalog: %+v", now)
		}
		return nil
	})
	if again := invalid(); again.ResourceVersion != got.ResourceVersion {
		t.Error("the status was written again")
	}
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = b.appModule(`text: string, more?: int`) })
	b.ready("app")
	if now := b.catalog.Get(kind); now.Digest == entry.Digest {
		t.Error("the catalog still has the old version")
	}
}

// TestOtherDigest reports a module whose content is not what the reference demands as one that
// could not be fetched, although only its evaluation shows that.
func TestOtherDigest(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	digest := "sha256:" + strings.Repeat("0", 64)
	b.create(b.transform("app", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.CueRef.Digest = digest }))
	got := b.blocked("app", "CueFetched", "DigestMismatch", "not "+digest)
	if s := kstatus(t, got); s != status.FailedStatus {
		t.Errorf("kstatus: %s", s)
	}
	b.event("app", "CueFetchFailed", "not "+digest)
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Digest = "" })
	b.ready("app")
}

// TestBreaking refuses a breaking change until it is approved for this content.
func TestBreaking(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string, size: int & <=10`)))
	good := b.ready("app")
	digest := func(module string) string {
		fetched, err := b.fetcher.Fetch(t.Context(), b.transform("app", module))
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := b.loader.Load(t.Context(), worker.Key{}, fetched.Sources)
		if err != nil {
			t.Fatal(err)
		}
		return loaded.Module.Digest
	}
	second, third := b.appModule(`text: string, size: int & <=5`), b.appModule(`text: string, size: int & <=3`)
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = second })
	got := b.blocked("app", "CRDGenerated", "BreakingChange", "v1alpha1 spec.size: maximum 10 → 5")
	if a := got.Status.AvailableCueRef; a == nil || !a.Breaking || a.Digest != digest(second) || a.ChangeCount != 1 || !strings.Contains(a.Changes[0], "maximum 10 → 5") {
		t.Errorf("available: %+v", a)
	}
	b.event("app", "NewModuleVersion", "with 1 changes of the CRD")
	// The approval is for this content, and not for later ones.
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.ApprovedBreakingDigest = digest(third) })
	b.until("app", func(t *v1alpha1.Transform) error {
		if t.Status.ObservedGeneration != t.Generation {
			return errors.New("not observed")
		}
		return nil
	})
	b.blocked("app", "CRDGenerated", "BreakingChange", "maximum 10 → 5")
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.ApprovedBreakingDigest = digest(second) })
	now := b.ready("app")
	if r := now.Status.ResolvedCueRef; r.Digest == good.Status.ResolvedCueRef.Digest || now.Status.AvailableCueRef != nil {
		t.Errorf("status: %+v", now.Status)
	}
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = third })
	b.blocked("app", "CRDGenerated", "BreakingChange", "maximum 5 → 3")
}

// TestTwoTransforms lets two Transforms want one kind: one gets it, and the other when it is
// free.
func TestTwoTransforms(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("first", b.appModule(`text: string`)))
	b.ready("first")
	b.create(b.transform("second", b.appModule(`text: string, more?: int`)))
	b.blocked("second", "CRDGenerated", "Conflict", "Transform "+b.Namespace+"/first generates it")
	if e := b.catalog.Get(schema.GroupKind{Group: b.group, Kind: "App"}); e == nil || e.Transform.Name != "first" {
		t.Errorf("entry of the catalog: %+v", e)
	}
	if err := b.client.Delete(t.Context(), b.transform("first", "")); err != nil {
		t.Fatal(err)
	}
	b.ready("second")
}

// TestForeignDefinition refuses a CRD of others, and adopts it when it is listed.
func TestForeignDefinition(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	name := "apps." + b.group
	b.Apply(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: `+name+`}
spec:
  group: `+b.group+`
  scope: Namespaced
  names: {kind: App, plural: apps, singular: app, listKind: AppList}
  versions:
  - {name: v1alpha1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, required: [spec], properties: {
      spec: {type: object, required: [text], properties: {text: {type: string}}}}}}}
`)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.blocked("app", "CRDGenerated", "Conflict", "it was written by harness; to take it over, list it in spec.adoptCRDs, and let its owner agree with 'kubectl annotate crd "+name+" pequod.io/adopt-by="+b.Namespace+"/app'")
	if crd := b.crd(name); len(crd.Labels) > 0 {
		t.Errorf("labels: %v", crd.Labels)
	}
	// A Transform that waits learns that the CRD is gone.
	foreign := b.crd(name)
	if err := b.client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	b.ready("app")
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CRDDeletionPolicy = v1alpha1.DeletionOrphan })
	if err := b.client.Delete(t.Context(), b.transform("app", "")); err != nil {
		t.Fatal(err)
	}
	b.gone("app")
	foreign.ObjectMeta = metav1.ObjectMeta{Name: name}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		if live := b.crd(name); live != nil {
			return errors.Join(errors.New("the CRD exists"), b.client.Delete(ctx, live))
		}
		return b.client.Create(ctx, foreign.DeepCopy(), client.FieldOwner("harness"))
	})
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.blocked("app", "CRDGenerated", "Conflict", "it was written by harness")
	// The Transform's own word isn't enough, and that of others neither.
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.AdoptCRDs = []string{name} })
	b.blocked("app", "CRDGenerated", "Conflict", "to take it over, let its owner agree")
	b.agree(name, "elsewhere/app")
	b.blocked("app", "CRDGenerated", "Conflict", "to take it over, let its owner agree")
	if crd := b.crd(name); crd.Labels[v1alpha1.LabelTransform] != "" {
		t.Errorf("labels: %v", crd.Labels)
	}
	b.agree(name, b.Namespace+"/app")
	b.ready("app")
	if crd := b.crd(name); crd.Labels[v1alpha1.LabelTransform] != "app" || crd.Labels[v1alpha1.LabelTransformNamespace] != b.Namespace {
		t.Errorf("labels: %v", crd.Labels)
	}
	// It is the Transform's from now on.
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.AdoptCRDs = nil })
	b.ready("app")
}

// agree lets a Transform take over a CRD.
func (b *env) agree(crd, transform string) {
	b.t.Helper()
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, v1alpha1.AnnotationAdoptBy, transform)
	if err := b.client.Patch(b.t.Context(), b.crd(crd), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		b.t.Fatal(err)
	}
}

// TestReserved refuses kinds in groups of Kubernetes and of Pequod.
func TestReserved(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	for i, c := range []struct{ group, condition, reason, message string }{
		{"platform.pequod.io", "CRDGenerated", "ReservedGroup", "the group platform.pequod.io is reserved"},
		{"shop.platform.pequod.io", "CRDGenerated", "ReservedGroup", "the group shop.platform.pequod.io is reserved"},
		{"shop.k8s.io", "SchemaExtracted", "EvaluationStopped", "protected groups must have approval"},
	} {
		name := fmt.Sprint("app", i)
		b.create(b.transform(name, b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.Group = c.group }))
		got := b.blocked(name, c.condition, c.reason, c.message)
		b.until(name, func(*v1alpha1.Transform) error {
			if got = b.blocked(name, c.condition, c.reason, c.message); kstatus(t, got) != status.FailedStatus {
				return errors.New("not stalled")
			}
			return nil
		})
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := b.client.Get(t.Context(), types.NamespacedName{Name: "apps." + c.group}, crd); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", c.group, err)
		}
	}
}

// TestKindChanged refuses to generate another kind while the old one exists.
func TestKindChanged(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.Kind = "Other" })
	b.blocked("app", "CRDGenerated", "KindChanged", "the Transform generates CustomResourceDefinition apps."+b.group)
	if b.crd("others."+b.group) != nil {
		t.Error("the other kind exists")
	}
	// A CRD keeps the plural that an earlier version derived.
	b.create(b.transform("box", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.Kind, t.Spec.Plural = "Box", "boxs" }))
	b.ready("box")
	b.edit("box", func(t *v1alpha1.Transform) { t.Spec.Plural = "" })
	b.ready("box")
	if crd := b.crd("boxs." + b.group); crd == nil || crd.Spec.Names.Plural != "boxs" {
		t.Errorf("the CRD: %v", crd)
	}
	b.edit("box", func(t *v1alpha1.Transform) { t.Spec.Plural = "crates" })
	b.blocked("box", "CRDGenerated", "KindChanged", "CustomResourceDefinition boxs."+b.group+
		" has the plural boxs for Box, not crates, and can't be renamed; set spec.plural to boxs to keep it")
	if b.crd("boxs."+b.group) == nil || b.crd("boxes."+b.group) != nil || b.crd("crates."+b.group) != nil {
		t.Error("the CRD was renamed")
	}
	b.edit("box", func(t *v1alpha1.Transform) { t.Spec.Plural = "boxs" })
	b.ready("box")
}

// TestPaused writes nothing while a Transform is paused, and lists its platform after a
// restart.
func TestPaused(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.Concurrent = 1
	b.start(b.Config)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	b.edit("app", func(t *v1alpha1.Transform) { t.Labels = map[string]string{v1alpha1.LabelPaused: "true"} })
	b.stop()
	b.edit("app", func(t *v1alpha1.Transform) { t.Annotations = map[string]string{"some": "annotation"} })
	b.start(b.Config)
	kind := schema.GroupKind{Group: b.group, Kind: "App"}
	harness.Eventually(t, patience, func(context.Context) error {
		if e := b.catalog.Get(kind); e == nil || !e.Paused {
			return errors.New("the platform is not listed as paused")
		}
		return nil
	})
	crd := b.crd("apps." + b.group)
	crd.Labels["some"], crd.Labels[v1alpha1.LabelTransform] = "label", "other"
	if err := b.client.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = b.appModule(`text: string, more?: int`) })
	b.create(b.transform("new", b.appModule(`text: string`), func(t *v1alpha1.Transform) {
		t.Spec.Kind, t.Labels = "New", map[string]string{v1alpha1.LabelPaused: "true"}
	}))
	b.blocked("new", "Ready", "Paused", "the Transform has the label pequod.io/paused; remove it to go on")
	// The manager handles this Transform after the paused ones.
	b.create(b.transform("last", b.appModule(`text: string`), func(t *v1alpha1.Transform) { t.Spec.Kind = "Last" }))
	b.ready("last")
	if now := b.crd(crd.Name); now.ResourceVersion != crd.ResourceVersion {
		t.Error("the CRD was written")
	}
	if e := b.catalog.Get(kind); e == nil || !e.Paused {
		t.Errorf("entry of the catalog: %+v", e)
	}
	// Instances are handled again even if the Transform isn't ready.
	b.edit("app", func(t *v1alpha1.Transform) { t.Labels = nil })
	b.blocked("app", "CRDGenerated", "Conflict", "it was generated for Transform "+b.Namespace+"/other")
	if e := b.catalog.Get(kind); e == nil || e.Paused {
		t.Errorf("entry of the catalog: %+v", e)
	}
	b.agree(crd.Name, b.Namespace+"/app")
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.AdoptCRDs = []string{crd.Name} })
	b.ready("app")
	if now := b.crd(crd.Name); now.Labels[v1alpha1.LabelTransform] != "app" {
		t.Errorf("labels: %v", now.Labels)
	}
}

// TestMoving re-fetches a moving reference: new content is shown before it is used.
func TestMoving(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	clock := &clock{now: time.Now()}
	b.options.Now, b.options.Concurrent = clock.Now, 1
	b.start(b.Config)
	b.fetcher.set(nil, b.appModule(`text: string`))
	b.create(b.transform("app", "package app", func(t *v1alpha1.Transform) { t.Spec.Interval = &metav1.Duration{Duration: 30 * time.Second} }))
	old := b.ready("app")
	b.fetcher.set(nil, b.appModule(`text: string, more?: int`))
	// The interval has not passed.
	n := b.fetcher.count()
	b.edit("app", func(t *v1alpha1.Transform) { t.Labels = map[string]string{"some": "label"} })
	b.create(b.transform("last", "package app", func(t *v1alpha1.Transform) { t.Spec.Kind = "Last" }))
	b.ready("last")
	if again := b.fetcher.count(); again != n+1 {
		t.Errorf("%d fetches; want %d", again, n+1)
	}
	clock.add(31 * time.Second)
	b.edit("app", func(t *v1alpha1.Transform) { t.Labels = nil })
	b.until("app", func(t *v1alpha1.Transform) error {
		if r := t.Status.ResolvedCueRef; r.Digest == old.Status.ResolvedCueRef.Digest || !r.FetchedAt.After(old.Status.ResolvedCueRef.FetchedAt.Time) {
			return errors.New("the module is the old one")
		}
		return nil
	})
	b.event("app", "NewModuleVersion", "with 1 changes of the CRD")
	// A request does not wait for the interval, whichever tool makes it.
	for i, annotation := range []string{v1alpha1.AnnotationReconcileRequestedAt, v1alpha1.AnnotationFluxRequestedAt} {
		b.fetcher.set(nil, b.appModule(fmt.Sprintf(`text: string, more%d?: int, more?: int`, i)))
		value := fmt.Sprint("2026-01-0", i+1)
		b.edit("app", func(t *v1alpha1.Transform) {
			t.Annotations = map[string]string{annotation: value}
			t.Spec.ApprovedBreakingDigest = ""
		})
		b.until("app", func(t *v1alpha1.Transform) error {
			if t.Status.LastHandledReconcileAt != value {
				return errors.New("not handled")
			}
			return nil
		})
	}
}
