package source_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/source"
	"github.com/pequod-io/pequod/test/harness"
)

// annotate sets an annotation of the InstanceSource apps, which has it reconciled.
func (b *env) annotate(name, value string) {
	b.t.Helper()
	in := &v1alpha1.InstanceSource{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "apps"}}
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, name, value))
	if err := b.client.Patch(b.t.Context(), in, patch); err != nil {
		b.t.Fatal(err)
	}
}

// reconciled has the InstanceSource apps reconciled until a reconciliation that began after the call
// has ended, and check succeeds.
func (b *env) reconciled(check func() error) {
	b.t.Helper()
	before := b.reconciliations.Load()
	harness.Eventually(b.t, patience, func(context.Context) error {
		b.annotate("example.org/now", time.Now().String())
		if b.reconciliations.Load() < before+3 { // one may have been in flight, and one about to begin
			return errors.New("no reconciliation has ended")
		}
		return check()
	})
}

// later moves the clock behind the interval.
func (b *env) later() { b.ahead.Add(int64(time.Hour)) }

// TestUnchanged evaluates nothing as long as the files and the platforms are the same, and evaluates
// again for every other reason.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	files := map[string]string{"apps/web.yaml": app("web", "{text: a}")}
	b.apps(files)
	b.rendered("main@sha1:1")
	evaluations := b.evaluations.Load()
	unchanged := func() error {
		if n := b.evaluations.Load(); n != evaluations {
			return fmt.Errorf("%d evaluations; want %d", n, evaluations)
		}
		return nil
	}
	evaluated := func() error {
		if n := b.evaluations.Load(); n <= evaluations {
			return errors.New("nothing was evaluated")
		}
		return nil
	}
	same := func(what string) {
		t.Helper()
		b.reconciled(func() error { return nil })
		if err := unchanged(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	changed := func() {
		t.Helper()
		b.reconciled(evaluated)
		evaluations = b.evaluations.Load()
	}
	same("a reconciliation")
	b.push("main@sha1:2", files)
	b.rendered("main@sha1:2")
	same("a revision with the same files")
	b.later()
	same("the interval")

	_, a := b.external("apps")
	archives := b.Client.AppsV1().ControllerRevisions(b.Namespace)
	if err := archives.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	b.later()
	changed() // because the archive is missing
	b.rendered("main@sha1:2")
	if _, again := b.external("apps"); again.Digest != a.Digest || len(b.download(again)) != 1 {
		t.Errorf("artifact %+v; want %+v", again, a)
	}
	same("an archive that was saved again")

	b.annotate("reconcile.fluxcd.io/requestedAt", "now")
	changed() // on request
	same("a request that was handled")

	files["apps/web.yaml"] = app("web", "{txt: a}")
	b.push("main@sha1:3", files)
	const wrong = `apps/web.yaml:4:8: spec.txt: unknown field; did you mean "text"?`
	b.failed("RenderFailed", wrong)
	evaluations = b.evaluations.Load()
	b.later()
	same("the interval of a mistake")
	b.failed("RenderFailed", wrong)
}

// TestChangeWhileRendering changes the platform after the first evaluation. All instances get the new
// version.
func TestChangeWhileRendering(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	next := b.entry(strings.Replace(appModule, "data: text: input.spec.text", `data: text: input.spec.text + "!"`, 1))
	change := sync.OnceFunc(func() { b.catalog.Set(next) })
	b.evaluated.Store(&change)
	b.apps(map[string]string{"apps/one.yaml": app("one", "{text: hello}"), "apps/two.yaml": app("two", "{text: hello}")})
	b.rendered("main@sha1:1")
	harness.Eventually(t, patience, func(context.Context) error {
		_, a := b.external("apps")
		for name, graph := range b.download(a) {
			if !strings.Contains(graph, "text: hello!") {
				return fmt.Errorf("%s was rendered by the former version", name)
			}
		}
		return nil
	})
}

// TestUnknownLater shows that a Transform of a kind that was unknown isn't ready.
func TestUnknownLater(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.apps(map[string]string{"apps/db.yaml": "apiVersion: other.example.org/v1\nkind: Database\nmetadata: {name: a}\n"})
	const at = "apps/db.yaml:1:1: kind: no Transform generates the kind Database"
	b.failed("RenderFailed", at+" of other.example.org; only instances are rendered, so keep other manifests in the directory of another Kustomization")
	b.Apply(t, "apiVersion: platform.pequod.io/v1alpha1\nkind: Transform\nmetadata: {name: db}\nspec: {cueRef: {type: embedded, ref: webservice}}\n")
	b.SetStatus(t, "platform.pequod.io/v1alpha1", "Transform", "db", map[string]any{"generatedCRD": "databases.other.example.org"})
	b.reconciled(func() error {
		b.later() // again, because the first time the cache may not have shown the Transform
		in := b.until("apps", func(*v1alpha1.InstanceSource) error { return nil })
		if c := apimeta.FindStatusCondition(in.Status.Conditions, "Ready"); c == nil || c.Reason != "TransformNotReady" {
			return fmt.Errorf("condition %v", c)
		}
		return nil
	})
	b.failed("TransformNotReady", at+".other.example.org yet; Transform "+b.Namespace+"/db isn't ready")
}

// TestBackoff shows that the status of a failure, whose message differs each time, doesn't cause
// another attempt.
func TestBackoff(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{Backoff: time.Hour})
	b.repository("apps")
	artifact := b.artifact("main@sha1:1", packed(t, map[string]string{"web.yaml": app("web", "{text: a}")}))
	url := artifact["url"]
	artifact["url"] = b.sources.URL + "/failing?secret=sesame"
	b.SetStatus(t, fluxVersion, "GitRepository", "apps", map[string]any{"artifact": artifact})
	b.instanceSource("apps", "{sourceRef: {kind: GitRepository, name: apps}}")
	in := b.failed("FetchFailed", "artifact main@sha1:1: "+b.sources.URL+"/failing answered 501 Not Implemented; check the source and its controller")
	if apimeta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionStalled) || !apimeta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("status %+v", in.Status)
	}
	b.reconciled(func() error { return nil })
	if n := b.failing.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
	b.later()
	b.reconciled(func() error { return nil })
	b.failed("FetchFailed", "artifact main@sha1:1: "+b.sources.URL+"/failing answered 502 Bad Gateway; check the source and its controller")
	if n := b.failing.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
	artifact["url"] = url
	b.SetStatus(t, fluxVersion, "GitRepository", "apps", map[string]any{"artifact": artifact})
	b.rendered("main@sha1:1") // another address is tried at once
}
