package artifact

import (
	"bytes"
	"fmt"
	"testing"
)

// The archives that were used last stay, as many as there is room for.
func TestCache(t *testing.T) {
	c := newCache(100)
	archive := func(n, size int) []byte { return bytes.Repeat([]byte{byte(n)}, size) }
	for n := range 4 {
		c.put(fmt.Sprint(n), archive(n, 25))
	}
	c.get("0")
	c.put("4", archive(4, 40))
	c.put("4", archive(4, 40))
	for n, want := range []bool{true, false, false, true, true} {
		got := c.get(fmt.Sprint(n))
		if (got != nil) != want || want && got[0] != byte(n) {
			t.Errorf("archive %d: %v", n, got)
		}
	}
	if c.size != 90 || c.order.Len() != 3 || len(c.byKey) != 3 {
		t.Errorf("%d bytes, %d and %d archives", c.size, c.order.Len(), len(c.byKey))
	}
}
