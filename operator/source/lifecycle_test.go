package source_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/source"
	"github.com/pequod-io/pequod/test/harness"
)

// TestKindsComeAndGo uses a kind of Flux that is defined later, and removed again.
func TestKindsComeAndGo(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.instanceSource("apps", "{sourceRef: {kind: Bucket, name: apps}}")
	const missing = "the cluster doesn't serve Bucket of source.toolkit.fluxcd.io/v1; install Flux 2.7 or newer"
	b.failed("KindMissing", missing)
	b.Apply(t, strings.NewReplacer("gitrepositories", "buckets", "gitrepository", "bucket", "GitRepository", "Bucket").Replace(gitRepositories))
	b.Apply(t, "apiVersion: "+fluxVersion+"\nkind: Bucket\nmetadata: {name: apps}\n")
	b.SetStatus(t, fluxVersion, "Bucket", "apps", map[string]any{"artifact": b.artifact("sha256:1234", packed(t, map[string]string{"web.yaml": app("web", "{text: a}")}))})
	b.rendered("sha256:1234")
	if _, a := b.external("apps"); a.Revision != "latest@"+a.Digest {
		t.Errorf("revision %s", a.Revision)
	}
	definitions := b.Await(t, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
	if err := definitions.Delete(t.Context(), "buckets.source.toolkit.fluxcd.io", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.failed("KindMissing", missing)
	if _, a := b.external("apps"); len(b.download(a)) != 1 {
		t.Error("the artifact is gone")
	}
}

// TestSuspend suspends an InstanceSource, and requests a reconciliation as flux reconcile does.
func TestSuspend(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.apps(map[string]string{"apps/web.yaml": app("web", "{text: a}")})
	b.rendered("main@sha1:1")
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps}, path: ./apps, suspend: true}")
	b.until("apps", func(in *v1alpha1.InstanceSource) error {
		if in.Status.ObservedGeneration != in.Generation {
			return errors.New("the suspension isn't seen")
		}
		return nil
	})
	b.push("main@sha1:2", map[string]string{"apps/web.yaml": app("web", "{text: b}")})
	// Another InstanceSource shows that the manager has seen the revision.
	b.instanceSource("second", "{sourceRef: {kind: GitRepository, name: apps}, path: apps}")
	b.until("second", func(in *v1alpha1.InstanceSource) error {
		if in.Status.ObservedSourceRevision != "main@sha1:2" {
			return errors.New("not rendered")
		}
		return nil
	})
	b.rendered("main@sha1:1")
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps}, path: ./apps, suspend: false}")
	b.rendered("main@sha1:2")

	const requested = "2026-01-01T00:00:00Z"
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":"`+requested+`"}}}`))
	in := &v1alpha1.InstanceSource{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "apps"}}
	if err := b.client.Patch(t.Context(), in, patch); err != nil {
		t.Fatal(err)
	}
	b.until("apps", func(in *v1alpha1.InstanceSource) error {
		if in.Status.LastHandledReconcileAt != requested {
			return errors.New("the request isn't handled")
		}
		return nil
	})
}

// TestForeign finds an ExternalArtifact that others have made.
func TestForeign(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.Apply(t, "apiVersion: "+fluxVersion+"\nkind: ExternalArtifact\nmetadata: {name: apps}\nspec: {sourceRef: {kind: Other, name: other}}\n")
	before := b.Get(t, fluxVersion, "ExternalArtifact", "apps")
	b.apps(map[string]string{"apps/web.yaml": app("web", "{text: a}")})
	in := b.failed("ExternalArtifactExists", "ExternalArtifact "+b.Namespace+"/apps exists and wasn't made by pequod-manager; delete it, or give the InstanceSource another name")
	if in.Status.Artifact != nil || !apimeta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("status %+v", in.Status)
	}
	if diff := cmp.Diff(before, b.Get(t, fluxVersion, "ExternalArtifact", "apps")); diff != "" {
		t.Errorf("the ExternalArtifact was changed (-before +after):\n%s", diff)
	}
	externals := b.Await(t, fluxVersion, "ExternalArtifact", "")
	if err := externals.Delete(t.Context(), "apps", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.rendered("main@sha1:1")
	// One that belongs to the InstanceSource is made again, with the same artifact.
	_, a := b.external("apps")
	if err := externals.Delete(t.Context(), "apps", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		object, err := externals.Get(ctx, "apps", metav1.GetOptions{})
		if err == nil && object.Object["status"] == nil {
			err = errors.New("it has no status")
		}
		return err
	})
	if _, again := b.external("apps"); again.Revision != a.Revision || again.Digest != a.Digest || again.URL != a.URL {
		t.Errorf("artifact %+v; want %+v", again, a)
	}
}

// TestOrphan finds an ExternalArtifact without an owner, as --cascade=orphan and tools that restore
// backups leave it.
func TestOrphan(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.apps(map[string]string{"apps/web.yaml": app("web", "{text: a}")})
	in := b.rendered("main@sha1:1")
	before, a := b.external("apps")
	b.stop()
	externals := b.Await(t, fluxVersion, "ExternalArtifact", "")
	if _, err := externals.Patch(t.Context(), "apps", types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Delete(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps}, path: ./apps}")
	b.start()
	in = b.rendered("main@sha1:1")
	after, again := b.external("apps")
	if owner := metav1.GetControllerOf(after); after.GetUID() != before.GetUID() || owner == nil || owner.UID != in.UID {
		t.Errorf("ExternalArtifact %v of %v", after.GetUID(), owner)
	}
	// Another manager has another address.
	if a.URL = again.URL; cmp.Diff(a, again) != "" || len(b.download(again)) != 1 {
		t.Errorf("artifact (-before +after):\n%s", cmp.Diff(a, again))
	}
}

// TestDeletion deletes InstanceSources while a manager runs and while none does. Their
// ExternalArtifacts and archives go with them.
func TestDeletion(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.apps(map[string]string{"apps/web.yaml": app("web", "{text: a}")})
	b.instanceSource("second", "{sourceRef: {kind: GitRepository, name: apps}, path: apps}")
	b.instanceSource("third", "{sourceRef: {kind: GitRepository, name: apps}, path: apps}")
	for _, name := range []string{"apps", "second", "third"} {
		b.until(name, func(in *v1alpha1.InstanceSource) error {
			if in.Status.Artifact == nil {
				return errors.New("no artifact")
			}
			return nil
		})
	}
	externals := b.Await(t, fluxVersion, "ExternalArtifact", "")
	gone := func(name string, left int) {
		t.Helper()
		harness.Eventually(t, patience, func(ctx context.Context) error {
			if _, err := externals.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("ExternalArtifact %s: %w", name, err)
			}
			revisions, err := b.Client.AppsV1().ControllerRevisions(b.Namespace).List(ctx, metav1.ListOptions{})
			if err == nil && len(revisions.Items) != left {
				err = fmt.Errorf("%d objects are left; want %d", len(revisions.Items), left)
			}
			return err
		})
	}
	b.remove("apps")
	gone("apps", 2+1) // the references, and the archive of all
	b.stop()
	b.remove("second")
	b.unlisted.Store(1)
	b.start()
	gone("second", 1+1)
	if b.unlisted.Load() >= 0 {
		t.Error("nothing has failed")
	}
}

// TestStart begins before the Transforms are ready.
func TestStart(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.apps(map[string]string{"apps/web.yaml": app("web", "{text: a}")})
	before := b.rendered("main@sha1:1")
	_, a := b.external("apps")
	entry := b.catalog.Entries()[0]
	b.Apply(t, `
apiVersion: platform.pequod.io/v1alpha1
kind: Transform
metadata: {name: app}
spec: {cueRef: {type: embedded, ref: webservice}}
`)
	b.SetStatus(t, "platform.pequod.io/v1alpha1", "Transform", "app", map[string]any{"generatedCRD": "apps.example.org"})
	b.stop()
	b.catalog, b.options.Patience = catalog.New(), time.Hour
	b.push("main@sha1:2", map[string]string{"apps/web.yaml": app("web", "{text: b}")})
	b.start()
	// An InstanceSource of a kind that no Transform generates shows that the manager works.
	b.repository("other")
	b.SetStatus(t, fluxVersion, "GitRepository", "other", map[string]any{"artifact": b.artifact("v1@sha1:1", packed(t, map[string]string{"a.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"}))})
	b.instanceSource("other", "{sourceRef: {kind: GitRepository, name: other}}")
	b.failedOf("other", "RenderFailed", "a.yaml:1:1: kind: no Transform generates the kind Pod; only instances are rendered, so keep other manifests in the directory of another Kustomization")
	b.until("apps", func(in *v1alpha1.InstanceSource) error {
		if diff := cmp.Diff(before.Status, in.Status); diff != "" {
			t.Errorf("status (-before +after):\n%s", diff)
		}
		return nil
	})
	// One that was never rendered shows that it is in progress.
	b.instanceSource("new", "{sourceRef: {kind: GitRepository, name: apps}, path: ./apps}")
	b.until("new", func(in *v1alpha1.InstanceSource) error {
		c := apimeta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != "Progressing" || c.Message != "rendering revision main@sha1:2" || in.Status.ObservedGeneration != in.Generation ||
			!apimeta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionReconciling) {
			return errors.New("not in progress")
		}
		return nil
	})
	paused := *entry
	paused.Paused = true
	b.catalog.Set(&paused)
	b.failed("TransformNotReady", "Transform "+b.Namespace+"/app is paused by its label pequod.io/paused")
	b.catalog.Set(entry)
	b.rendered("main@sha1:2")
	if _, next := b.external("apps"); next.Digest == a.Digest {
		t.Error("the artifact is the same")
	}
}
