package program

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// TestLimitAnswers gives up requests that are not answered, or not to the end, and not a watch that has
// begun.
func TestLimitAnswers(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	proxy := c.Proxy(t, 1)
	config := proxy.Config(c.Config)
	limitAnswers(config, time.Second, 2*time.Second)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := client.CoreV1().ConfigMaps(c.Namespace)
	watch, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Faults: []faults.Fault{faults.Hang{}}})
	began := time.Now()
	_, err = maps.Patch(t.Context(), "a", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{})
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < time.Second || took > 30*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
	proxy.Inject(faults.Rule{Verbs: []string{"list"}, Faults: []faults.Fault{faults.Stall{}}})
	began = time.Now()
	_, err = maps.List(t.Context(), metav1.ListOptions{})
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took < 2*time.Second || took > 30*time.Second {
		t.Errorf("after %s: %v", took, err)
	}
	c.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: late}}")
	for event := range watch.ResultChan() {
		if m, ok := event.Object.(metav1.Object); ok && m.GetName() == "late" {
			return
		}
	}
	t.Error("the watch has ended")
}
