package reference

import (
	"runtime"
	"strings"
	"testing"
)

// The cost of the type check of a chain grows with its length and not with its
// square. Allocated bytes show it on any machine.
func TestCompileCostIsLinear(t *testing.T) {
	scope := NewNodeSet([]string{"a"})
	allocated := func(terms int) float64 {
		var before, after runtime.MemStats
		expr := "a" + strings.Repeat("&&a", terms-1)
		runtime.ReadMemStats(&before)
		if _, issues := scope.Compile(expr, nil); len(issues) > 0 {
			t.Fatal(issues)
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	allocated(10) // creates the environment
	small, large := allocated(100), allocated(400)
	if ratio := large / small; ratio > 8 {
		t.Errorf("a chain four times as long allocates %.1f times as much", ratio)
	}
}
