package transform_test

import (
	"errors"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/test/harness"
)

var errStopped = &worker.LimitError{Platform: "app", Limit: worker.LimitTime, Reason: "evaluation of samples took longer than 1m0s of CPU time"}

// TestSamplesStopped checks that an evaluation of samples that was stopped is tried again, by itself and
// at once if it is requested, and that it is not needed where the resources are listed.
func TestSamplesStopped(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.loader.stop(errStopped)
	b.create(b.transform("app", b.appModule(`text: string`)))
	got := b.blocked("app", v1alpha1.ConditionRBACConfigured, "EvaluationStopped", "samples took longer than 1m0s of CPU time; the rights of the graphs could not be computed")
	if got.Status.GeneratedCRD == "" {
		t.Error("the CRD was not generated")
	}
	// With every failure, the pause is longer. After some, it is a failure.
	b.until("app", func(t *v1alpha1.Transform) error {
		if t.Status.Phase != v1alpha1.TransformFailed || !apimeta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionStalled) {
			return errors.New("not stalled")
		}
		return nil
	})
	before := b.loader.stop(nil)
	b.ready("app")
	if after := b.loader.stop(nil); before < 4 || after != before+1 {
		t.Errorf("%d evaluations, and %d when the Transform is ready", before, after)
	}
	b.stop()

	b.options.Backoff = time.Hour
	b.start(b.Config)
	harness.Eventually(t, patience, b.listed)
	b.loader.stop(errStopped)
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = b.appModule(`text: string, other?: string`) })
	b.blocked("app", v1alpha1.ConditionRBACConfigured, "EvaluationStopped", "took longer")
	b.loader.stop(nil)
	b.edit("app", func(t *v1alpha1.Transform) {
		t.Annotations = map[string]string{v1alpha1.AnnotationReconcileRequestedAt: "now"}
	})
	b.ready("app")

	b.loader.stop(errStopped)
	b.edit("app", func(t *v1alpha1.Transform) {
		t.Spec.CueRef.Ref = b.appModule(`text: string, other?: string, third?: string`)
		t.Spec.ManagedResources = []v1alpha1.ManagedResource{{Resources: []string{"configmaps"}}}
	})
	b.ready("app")
}

// TestSamplesOnce checks that the samples of a module are evaluated once, whatever is restarted, and
// those of an embedded module never.
func TestSamplesOnce(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.create(b.transform("app", b.appModule(`text: string`)))
	b.ready("app")
	restarted := func(want int) {
		t.Helper()
		b.stop()
		b.start(b.Config)
		harness.Eventually(t, patience, b.listed)
		b.ready("app")
		if n := b.loader.stop(nil); n != want {
			t.Errorf("%d evaluations of samples; want %d", n, want)
		}
	}
	restarted(1)
	// Another version is evaluated, and once.
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.CueRef.Ref = b.appModule(`text: string, other?: string`) })
	b.ready("app")
	restarted(2)
	b.edit("app", func(t *v1alpha1.Transform) { t.Spec.RBACScope = v1alpha1.RBACNamespace })
	b.ready("app")
	restarted(2)
	b.create(b.transform("web", "", func(t *v1alpha1.Transform) {
		t.Spec.CueRef = v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"}
		t.Spec.Group = b.group
	}))
	b.ready("web")
	restarted(2)
}
