package receiver

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestConsumersReportAtEnd checks that the end of the program waits for a source, which may report
// its state until it has ended. A report that waited for the end would stop the program from ending.
func TestConsumersReportAtEnd(t *testing.T) {
	c := newConsumers()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	run := func(ctx context.Context, report func(error)) {
		<-ctx.Done()
		time.Sleep(50 * time.Millisecond) // Start waits by then
		report(nil)
	}
	if _, err := c.ensure(ctx, &v1alpha1.Receiver{}, run); err != nil {
		t.Fatal(err)
	}
	stop()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the consumers have not ended")
	}
	select {
	case <-c.changed:
	default:
		t.Error("the report is lost")
	}
	other := &v1alpha1.Receiver{}
	other.Name = "other"
	if _, err := c.ensure(t.Context(), other, run); err == nil {
		t.Error("a source begins after the end")
	}
}

// TestConsumersOneAtATime ends a source, and begins it again while the first one hasn't ended. The
// second one waits for it, since both would process the same messages.
func TestConsumersOneAtATime(t *testing.T) {
	c := newConsumers()
	go func() { _ = c.Start(t.Context()) }() // returns nil
	a := &v1alpha1.Receiver{}
	a.Name = "queue"
	var running, most atomic.Int32
	release := make(chan struct{})
	began := make(chan struct{}, 2)
	run := func(ctx context.Context, _ func(error)) {
		most.Store(max(most.Load(), running.Add(1)))
		began <- struct{}{}
		<-ctx.Done()
		<-release
		running.Add(-1)
	}
	begin := func() {
		t.Helper()
		if _, err := c.ensure(t.Context(), a, run); err != nil {
			t.Fatal(err)
		}
	}
	begin()
	<-began
	c.end(client.ObjectKeyFromObject(a)) // such as a pause
	begin()
	select {
	case <-began:
		t.Fatal("two sources run")
	case <-time.After(100 * time.Millisecond):
	}
	close(release)
	<-began
	c.end(client.ObjectKeyFromObject(a))
	for deadline := time.Now().Add(time.Minute); ; {
		c.mu.Lock()
		left := len(c.of)
		c.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a source that has ended is remembered")
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d sources at once", most.Load())
	}
}
