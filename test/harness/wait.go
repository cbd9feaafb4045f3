package harness

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// Parallel lets twice as many tests of the process run at once as there are
// processors, unless -parallel is set: they mostly wait. It must be called before
// the flags are parsed, by a TestMain.
func Parallel() {
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
}

// Eventually calls check until it returns nil. After timeout it fails the test
// with the last error of check. It pauses for 20 ms between two calls; check must
// end when its context does.
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
		// An error that is caused by the deadline tells less than the one before
		// it.
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
