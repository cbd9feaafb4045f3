package engine

import (
	"testing"
	"time"
)

// The longer a node isn't ready, the less often the cause is looked up.
func TestExplainIntervalGrows(t *testing.T) {
	b := newEnv(t, "{"+oneNode+"}", nil, Options{ExplainInterval: 10 * time.Second})
	n := b.nodes.byID["a"]
	for _, test := range []struct{ waiting, want time.Duration }{
		{0, 10 * time.Second},
		{40 * time.Second, 10 * time.Second},
		{4 * time.Minute, time.Minute},
		{20 * time.Minute, 5 * time.Minute},
		{24 * time.Hour, 5 * time.Minute},
	} {
		n.progress.waitingSince = b.Engine.step.now.Add(-test.waiting)
		if got := b.explainInterval(n); got != test.want {
			t.Errorf("after %v: %v; want %v", test.waiting, got, test.want)
		}
	}
}
