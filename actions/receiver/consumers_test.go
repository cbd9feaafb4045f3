package receiver

import (
	"context"
	"testing"
	"time"

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
