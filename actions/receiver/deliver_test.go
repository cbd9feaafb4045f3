package receiver

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestQuiet checks that the Events about a Receiver are limited, whatever the number of messages, and
// that they are limited for each Receiver.
func TestQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQuiet()
		burst := func(uid types.UID) (allowed int) {
			for range 100 {
				if q.allow(uid) {
					allowed++
				}
			}
			return allowed
		}
		for _, step := range []struct {
			uid   types.UID
			after time.Duration
			want  int
		}{{"a", 0, 5}, {"a", 0, 0}, {"b", 0, 5}, {"a", 10 * time.Second, 1}, {"a", time.Hour, 5}} {
			time.Sleep(step.after)
			if got := burst(step.uid); got != step.want {
				t.Errorf("%s, %s later: %d Events, want %d", step.uid, step.after, got, step.want)
			}
		}
	})
}
