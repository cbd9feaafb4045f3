package harness

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// Eventually calls check until it returns nil, and fails the test with what
// check returned last if that takes too long.
func Eventually(t testing.TB, timeout time.Duration, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		// An answer that was cut short by the deadline says less than the one before.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			t.Fatal(fmt.Errorf("not within %s: %w", timeout, last))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
