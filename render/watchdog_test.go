package render

import "testing"

// TestGarbageIsBounded sets the percentages of the collector for live heaps. The heap may
// grow by what the percentage is worth.
func TestGarbageIsBounded(t *testing.T) {
	const mebibyte = 1 << 20
	for _, test := range []struct {
		name       string
		done, live int // evaluations that ended, and MiB
		most, want int // percent
	}{
		{"the user's setting holds for small heaps", 0, 4, 400, 400},
		{"a first evaluation leaves 24 MiB", 0, 32, 400, 75},
		{"later ones leave 96 MiB", 1, 32, 400, 300},
		{"the least is 20 percent", 1, 1024, 400, 20},
		{"a lower setting of the user's holds", 1, 32, 50, 50},
		{"a collector that is off stays off", 1, 32, -1, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWatchdog(Limits{})
			before := w.gcPercent
			defer func() {
				w.gcPercent, w.gcPercentNow = before, 0
				w.stop()
			}()
			w.gcPercent, w.gcPercentNow, w.done = test.most, test.most, test.done
			w.boundGarbage(uint64(test.live) * mebibyte)
			if w.gcPercentNow != test.want {
				t.Errorf("percent %d, not %d", w.gcPercentNow, test.want)
			}
		})
	}
}
