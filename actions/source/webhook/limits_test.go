package webhook

import (
	"testing"
	"testing/synctest"

	"github.com/pequod-io/pequod/actions/source"
)

// TestEnter checks that the bodies of the requests that are processed at once are limited together, so
// that many small ones or a few large ones are in memory.
func TestEnter(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		size int64
		want int
	}{
		{"empty", 0, 256}, {"small", 2048, 256}, {"large", source.MaxBody, 16}, {"unknown", -1, 16}, {"medium", 4 * minWeight, 64},
	} {
		synctest.Test(t, func(t *testing.T) { // maxWait takes no time
			l := newLimits().get("uid")
			var leave []func()
			enter := func() bool {
				done := l.enter(t.Context(), test.size)
				if done != nil {
					leave = append(leave, done)
				}
				return done != nil
			}
			for enter() && len(leave) <= test.want {
			}
			if len(leave) != test.want {
				t.Errorf("%s: %d requests at once, want %d", test.name, len(leave), test.want)
			}
			for _, f := range leave {
				f()
			}
			if !enter() {
				t.Errorf("%s: no request enters after all have left", test.name)
			}
		})
	}
}
