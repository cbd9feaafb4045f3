package effect

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestReceipts checks that receipts are kept for their time, and that there are not too many.
func TestReceipts(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	first := receiptOf("uid", 0, "a")
	for _, other := range []receipt{receiptOf("uid", 1, "a"), receiptOf("uid", 0, "b"), receiptOf("other", 0, "a")} {
		if other == first {
			t.Error("two effects have the same receipt")
		}
	}
	text := add("by-hand nonsense:! ", first, now, time.Hour)
	for after, want := range map[time.Duration]bool{0: true, 59 * time.Minute: true, time.Hour: false} {
		if got := has(text, first, now.Add(after)); got != want {
			t.Errorf("after %s: %t", after, got)
		}
	}
	if has(text, receiptOf("uid", 0, "b"), now) || strings.Contains(text, "nonsense") {
		t.Errorf("entries: %q", text)
	}
	for i := range maxReceipts {
		text = add(text, receiptOf("uid", 0, fmt.Sprint(i)), now, time.Hour)
	}
	if n := len(strings.Fields(text)); n != maxReceipts || has(text, first, now) || !has(text, receiptOf("uid", 0, "0"), now) {
		t.Errorf("%d receipts", n)
	}
	if again := add(text, receiptOf("uid", 0, "0"), now, time.Hour); len(again) != len(text) {
		t.Error("a receipt is there twice")
	}
	if late := add(text, first, now.Add(2*time.Hour), time.Hour); len(strings.Fields(late)) != 1 {
		t.Errorf("receipts that are over: %q", late)
	}
}
