package engine

import (
	"testing"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// A node that is written as often as possible is written ten times an hour, after
// the first ten times. Other nodes aren't affected.
func TestDamper(t *testing.T) {
	d, now := NewDamper(), time.Now()
	a, b := inventory.Key{Kind: "ConfigMap", Name: "a"}, inventory.Key{Kind: "ConfigMap", Name: "b"}
	hour := func() (writes int) {
		for end := now.Add(time.Hour); now.Before(end); {
			if next := d.next(a, now); !next.IsZero() {
				if !next.After(now) {
					t.Fatalf("the next write is at %v, and now it is %v", next, now)
				}
				now = next
				continue
			}
			d.wrote(a, now)
			writes++
		}
		return writes
	}
	if first, second := hour(), hour(); first > 20 || second < 9 || second > 10 {
		t.Errorf("%d writes in the first hour, %d in the second", first, second)
	}
	if !d.next(b, now).IsZero() {
		t.Error("another node has to wait")
	}
	if now = now.Add(2 * time.Hour); d.tokens(a, now) != maxWrites {
		t.Errorf("%v writes after a rest", d.tokens(a, now))
	}
	var none *Damper
	if none.wrote(a, now); !none.next(a, now).IsZero() {
		t.Error("no damper limits a write")
	}
}
