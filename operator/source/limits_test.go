package source_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/artifact"
	"github.com/pequod-io/pequod/operator/source"
	"github.com/pequod-io/pequod/test/harness"
)

// noise returns text that can hardly be compressed.
func noise(t *testing.T, seed byte, size int) string {
	t.Helper()
	data := make([]byte, size*3/4)
	if _, err := rand.NewChaCha8([32]byte{seed}).Read(data); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}

// reason waits until an InstanceSource is not ready for a reason, and returns the message.
func (b *env) reason(name, reason string, stalled bool) string {
	b.t.Helper()
	var message string
	b.until(name, func(in *v1alpha1.InstanceSource) error {
		c := apimeta.FindStatusCondition(in.Status.Conditions, v1alpha1.ConditionReady)
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || apimeta.IsStatusConditionTrue(in.Status.Conditions, v1alpha1.ConditionStalled) != stalled {
			return errors.New("not " + reason)
		}
		message = c.Message
		return nil
	})
	return message
}

// TestQuota fills the quota of a namespace. What was published is served, and what waits is stored as
// soon as there is room, without an evaluation before that.
func TestQuota(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	text := func(seed byte) map[string]string {
		return map[string]string{"apps/web.yaml": app("web", "{text: "+noise(t, seed, 40_000)+"}")}
	}
	b.apps(text(1))
	b.rendered("main@sha1:1")
	_, first := b.external("apps")
	b.stop()
	b.quota = *first.Size + 10_000
	b.start()
	b.push("main@sha1:2", text(2))
	want := fmt.Sprintf("the archive has 0.03 MiB, and the InstanceSources of namespace %s use 0.03 MiB of 0.04 MiB; delete some of them, render fewer instances, "+
		"or raise --artifact-namespace-quota of pequod-manager", b.Namespace)
	if got := b.reason("apps", "QuotaExceeded", true); got != want {
		t.Errorf("message %s\nwant %s", got, want)
	}
	b.AwaitEvent(t, patience, "InstanceSource", "apps", "QuotaExceeded", want)
	_, kept := b.external("apps")
	if kept.Digest != first.Digest || len(b.download(kept)) != 1 {
		t.Errorf("artifact %+v", kept)
	}
	// Another InstanceSource of the first revision needs no room.
	b.repository("same")
	b.SetStatus(t, fluxVersion, "GitRepository", "same", map[string]any{"artifact": b.artifact("main@sha1:same", packed(t, text(1)))})
	b.instanceSource("same", "{sourceRef: {kind: GitRepository, name: same}}")
	b.until("same", func(in *v1alpha1.InstanceSource) error {
		if in.Status.Artifact == nil || in.Status.Artifact.Digest != first.Digest {
			return errors.New("not rendered")
		}
		return nil
	})
	evaluations := b.evaluations.Load()
	b.reconciled(func() error { return nil })
	b.later()
	b.reconciled(func() error { return nil })
	if n := b.evaluations.Load(); n != evaluations {
		t.Errorf("%d evaluations while there is no room", n-evaluations)
	}
	b.reason("apps", "QuotaExceeded", true)
	// A larger quota.
	b.stop()
	b.quota *= 2
	b.start()
	b.rendered("main@sha1:2")
	// An InstanceSource that goes makes room for another one.
	b.push("main@sha1:3", map[string]string{"apps/web.yaml": app("web", "{text: "+noise(t, 3, 90_000)+"}")})
	b.reason("apps", "QuotaExceeded", true)
	b.remove("same")
	b.push("main@sha1:4", text(2))
	b.rendered("main@sha1:4")
	b.instanceSource("more", "{sourceRef: {kind: GitRepository, name: same}}")
	b.until("more", func(in *v1alpha1.InstanceSource) error {
		if in.Status.Artifact == nil {
			return errors.New("not rendered")
		}
		return nil
	})
	b.push("main@sha1:5", text(5))
	b.reason("apps", "QuotaExceeded", true)
	began := time.Now()
	b.remove("more")
	b.rendered("main@sha1:5")
	t.Logf("stored %s after another InstanceSource was deleted", time.Since(began).Round(time.Millisecond))
}

// TestRate stores more than the rate of an InstanceSource admits. It waits until the time in its
// message.
func TestRate(t *testing.T) {
	t.Parallel()
	b := newEnv(t, source.Options{})
	b.apps(map[string]string{"apps/web.yaml": app("web", "{text: a}")})
	b.rendered("main@sha1:1")
	_, first := b.external("apps")
	key := types.NamespacedName{Namespace: b.Namespace, Name: "apps"}
	var limit *artifact.LimitError
	for i := 0; limit == nil; i++ {
		data := make([]byte, artifact.MaxSize)
		if i >= 3 {
			data = data[:100_000] // until less is left
		}
		data[0], data[1] = byte(i), byte(i>>8)
		if _, err := b.store.Save(t.Context(), key, data, first.Digest); err != nil && !errors.As(err, &limit) {
			t.Fatal(err)
		}
	}
	large := map[string]string{}
	for i := range 4 {
		large[fmt.Sprintf("apps/%d.yaml", i)] = app(fmt.Sprint("web", i), "{text: "+noise(t, byte(i), 600_000)+"}")
	}
	b.push("main@sha1:2", large) // 1.8 MB
	message := b.reason("apps", "RateLimited", false)
	_, rest, _ := strings.Cut(message, " waits until ")
	stamp, _, _ := strings.Cut(rest, ";")
	until, err := time.Parse(time.RFC3339, stamp)
	if wait := time.Until(until); err != nil || wait < 5*time.Second || wait > 2*time.Minute {
		t.Errorf("%s: %s, %v", message, wait, err)
	}
	if _, kept := b.external("apps"); kept.Digest != first.Digest || len(b.download(kept)) != 1 {
		t.Errorf("artifact %+v", kept)
	}
	// A revision whose archive is stored doesn't wait, nor does another InstanceSource.
	b.push("main@sha1:3", map[string]string{"apps/web.yaml": app("web", "{text: a}")})
	b.rendered("main@sha1:3")
	b.push("main@sha1:4", large)
	b.reason("apps", "RateLimited", false)
	b.ahead.Add(int64(2 * time.Minute))
	harness.Eventually(t, patience, func(ctx context.Context) error {
		in := &v1alpha1.InstanceSource{}
		err := b.client.Get(ctx, client.ObjectKey(key), in)
		if b.annotate("example.org/now", time.Now().String()); err == nil && in.Status.ObservedSourceRevision != "main@sha1:4" {
			err = errors.New("it still waits")
		}
		return err
	})
}
