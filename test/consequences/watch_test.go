package consequences

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/pequod-io/pequod/test/harness"
)

// podWatch follows the Pods of a namespace.
type podWatch struct {
	mu   sync.Mutex
	pods map[types.UID]podState
	// last is the time of the last Event of a Pod that changed its state.
	last time.Time
	// lowest is the lowest number of ready Pods since mark.
	lowest int
}

// podState has the fields of a Pod that a change may alter.
type podState struct{ ready, ends bool }

// watchPods watches the Pods of the test's namespace until the test ends. The
// namespace must have no Pods yet.
func watchPods(t *testing.T, c *harness.Cluster) *podWatch {
	t.Helper()
	p := &podWatch{pods: map[types.UID]podState{}, last: time.Now()}
	w, err := c.Client.CoreV1().Pods(c.Namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	go func() {
		for e := range w.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok {
				p.see(e.Type, pod)
			}
		}
	}()
	return p
}

// see records the state of a Pod.
func (p *podWatch) see(kind watch.EventType, pod *corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	next := podState{ends: done || pod.DeletionTimestamp != nil}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && !next.ends {
			next.ready = true
		}
	}
	if old, known := p.pods[pod.UID]; !known || old != next || kind == watch.Deleted {
		p.last = time.Now()
	}
	p.pods[pod.UID] = next
	if kind == watch.Deleted {
		delete(p.pods, pod.UID)
	}
	p.lowest = min(p.lowest, p.ready())
}

// ready returns the number of ready Pods. The caller holds the lock.
func (p *podWatch) ready() (n int) {
	for _, state := range p.pods {
		if state.ready {
			n++
		}
	}
	return n
}

// running returns the Pods that exist and don't end, and how many of them are ready.
func (p *podWatch) running() (pods map[types.UID]bool, ready int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pods = map[types.UID]bool{}
	for uid, state := range p.pods {
		if !state.ends {
			pods[uid] = true
		}
	}
	return pods, p.ready()
}

// mark begins a new count of the lowest number of ready Pods.
func (p *podWatch) mark() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lowest, p.last = p.ready(), time.Now()
}

// wasDown reports whether no Pod was ready at some time since mark.
func (p *podWatch) wasDown() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lowest == 0
}

// quiet waits until no Pod has changed for calm and settled returns true, but not
// longer than patience.
func (p *podWatch) quiet(ctx context.Context, calm, patience time.Duration, settled func(context.Context) bool) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		p.mu.Lock()
		since := time.Since(p.last)
		p.mu.Unlock()
		if since > calm && settled(ctx) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}
