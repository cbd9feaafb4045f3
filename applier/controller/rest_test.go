package controller

import "testing"

// Memory is given back once after much work, and not while the work goes on.
func TestWorkIsOver(t *testing.T) {
	w := work{}
	for i, at := range []struct {
		steps int64
		over  bool
	}{
		{0, false}, {10, false}, {10, false}, // little
		{600, false}, {900, false}, {900, true}, {900, false},
		{900 + muchWork, false}, {900 + muchWork, true},
	} {
		if over := w.over(at.steps); over != at.over {
			t.Errorf("%d: over is %t after %d steps", i, over, at.steps)
		}
	}
}
