package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/pequod-io/pequod/inventory"
)

// A node that is written as often as possible is written six times an hour, after
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
	if first, second := hour(), hour(); first < 15 || first > 16 || second < 5 || second > 6 {
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

// Nodes that failed for good are tried a few times by later engines of the graph. When
// one of them succeeds, the others are tried, too.
func TestFailuresAreRemembered(t *testing.T) {
	damper := NewDamper()
	var ids []string
	for i := range 2 * maxWrites {
		ids = append(ids, fmt.Sprintf("n%d", i))
	}
	forbidden := Outcome{Err: &Failure{Reason: ReasonForbidden, Message: "may not", Terminal: true}}
	tried := func(succeed bool) int {
		b := newEnv(t, nodes(ids...), nil, Options{Damper: damper, NeverApplied: true})
		count := 0
		for range 100 {
			actions := b.Step(b.now).Actions
			for _, a := range actions {
				if a.Verb != Apply {
					b.Done(a, Outcome{Saved: a.Inventory})
					continue
				}
				count++
				if o := forbidden; !succeed {
					b.Done(a, o)
					continue
				}
				b.Done(a, Outcome{Object: configMap(t, self, a.Key.Name, "u-"+a.Key.Name, 1, "1"), Created: true})
			}
			if len(actions) == 0 {
				break
			}
		}
		return count
	}
	for i, want := range []int{2 * maxWrites, maxWrites, 0} {
		if got := tried(false); got != want {
			t.Errorf("engine %d tried %d nodes; want %d", i, got, want)
		}
	}
	damper.retries = bucket{tokens: 1}
	if got := tried(true); got != 2*maxWrites {
		t.Errorf("tried %d nodes after one succeeded; want %d", got, 2*maxWrites)
	}
}
