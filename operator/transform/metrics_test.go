package transform_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/transform"
	"github.com/pequod-io/pequod/test/harness"
)

// outcomes are the results of reconciliations.
type outcomes struct {
	transform.Recorder
	mu      sync.Mutex
	results []string
}

func (o *outcomes) Reconciled(result string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.results = append(o.results, result)
}

func (*outcomes) ReconcileFailed(string)                                   {}
func (*outcomes) Observed(types.NamespacedName, *v1alpha1.TransformStatus) {}

// TestFailuresAreCounted checks that a Transform that a step blocks counts as an error, unlike one that
// waits.
func TestFailuresAreCounted(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	counted := &outcomes{}
	b.options.Metrics = counted
	b.start(b.Config)
	b.create(b.transform("good", b.appModule(`text: string`)))
	b.ready("good")
	counted.mu.Lock()
	if slices.Contains(counted.results, "error") {
		t.Errorf("a Transform without mistakes: %v", counted.results)
	}
	counted.results = nil
	counted.mu.Unlock()
	b.fetcher.set(errors.New("no connection"), "")
	b.create(b.transform("app", strings.Replace(b.appModule(`text: string`), `"App"`, `"Other"`, 1)))
	b.until("app", func(t *v1alpha1.Transform) error {
		if t.Status.Phase == "" || t.Status.Phase == v1alpha1.TransformReady {
			return errors.New("not blocked")
		}
		return nil
	})
	harness.Eventually(t, patience, func(context.Context) error {
		counted.mu.Lock()
		defer counted.mu.Unlock()
		if !slices.Contains(counted.results, "error") {
			return errors.New("the failure isn't counted")
		}
		return nil
	})
}
