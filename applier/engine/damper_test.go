package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/inventory"
)

// A node is written ten times at once, then every ten minutes. After a rest it may be
// written ten times at once again. Other nodes aren't affected.
func TestDamper(t *testing.T) {
	d, begin := NewDamper(), time.Now()
	a, b := inventory.Key{Kind: "ConfigMap", Name: "a"}, inventory.Key{Kind: "ConfigMap", Name: "b"}
	if !d.Unused() {
		t.Error("a new damper counts as used")
	}
	now := begin
	// writes writes a node as often as possible, and returns the minutes since begin.
	writes := func(count int) (minutes []int) {
		for range count {
			if next := d.next(a, now); !next.IsZero() {
				if !next.After(now) {
					t.Fatalf("the next write is at %v, and now it is %v", next, now)
				}
				now = next
			}
			if next := d.next(a, now); !next.IsZero() {
				t.Fatalf("at %v, the next write is at %v", now, next)
			}
			d.wrote(a, now)
			minutes = append(minutes, int(now.Sub(begin).Minutes()))
		}
		return minutes
	}
	burst := func(minute int) []int { return slices.Repeat([]int{minute}, 10) }
	if diff := cmp.Diff(append(burst(0), 10, 20, 30, 40, 50, 60, 70), writes(17)); diff != "" {
		t.Errorf("minutes of the writes (-want +got):\n%s", diff)
	}
	if d.Unused() {
		t.Error("a damper that limits writes counts as unused")
	}
	if !d.next(b, now).IsZero() {
		t.Error("another node has to wait")
	}
	now = begin.Add(400 * time.Minute)
	if diff := cmp.Diff(append(burst(400), 410, 420), writes(12)); diff != "" {
		t.Errorf("minutes of the writes after a rest (-want +got):\n%s", diff)
	}
	for i := range 1000 { // at uneven times, whose tokens are rounded
		now = now.Add(time.Duration(i) * 123_456_789)
		writes(1)
	}
	var none *Damper
	for range 20 {
		none.wrote(a, now)
	}
	if !none.next(a, now).IsZero() || none.nearly(a, now) {
		t.Error("a nil Damper limits writes")
	}
}

// A graph that is applied without trouble leaves nothing in its damper.
func TestDamperOfCompletedGraph(t *testing.T) {
	damper := NewDamper()
	b := newEnv(t, nodes("a"), nil, Options{Damper: damper})
	if b.complete(); !damper.Unused() {
		t.Errorf("used: %+v", damper)
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
	for i, want := range []int{2 * maxWrites, maxRetries, 0} {
		if got := tried(false); got != want {
			t.Errorf("engine %d tried %d nodes; want %d", i, got, want)
		}
	}
	damper.nextRetry = time.Time{} // time passes
	if got := tried(true); got != 2*maxWrites {
		t.Errorf("tried %d nodes after one succeeded; want %d", got, 2*maxWrites)
	}
}

// Objects that keep failing are tried in turn, so that one that fails for ever doesn't
// keep the others from being tried. One that isn't tried in its turn loses it.
func TestObjectsTakeTurns(t *testing.T) {
	key := func(name string) inventory.Key { return inventory.Key{Kind: "ConfigMap", Name: name} }
	for _, test := range []struct {
		failure *Failure
		want    string // the objects that are tried
	}{
		{&Failure{Reason: ReasonForbidden, Message: "may not", Terminal: true}, "a b c a b c a b c"},
		{&Failure{Reason: ReasonWebhookFailed, Message: "no answer"}, "a b c a b c a b c"},
	} {
		d, now := NewDamper(), time.Now()
		for _, name := range []string{"a", "b", "blocked", "c"} {
			d.wroteInVain(key(name), test.failure, now)
		}
		now = now.Add(trialTime)
		var tried []string
		for range 12 {
			for _, name := range []string{"a", "b", "c"} {
				refused := d.refuse(key(name), now)
				if f, _ := d.trial(key(name), now); f == nil && refused == nil {
					d.wroteInVain(key(name), test.failure, now)
					tried = append(tried, name)
				}
			}
			now = now.Add(writeInterval)
		}
		if got := strings.Join(tried, " "); got != test.want {
			t.Errorf("%s: tried %s; want %s", test.failure.Reason, got, test.want)
		}
	}
}

// A read that succeeds says nothing about writes that failed for good.
func TestReadsProveNoWrites(t *testing.T) {
	d, now := NewDamper(), time.Now()
	d.nextRetry = now.Add(time.Second)
	a, b := inventory.Key{Kind: "ConfigMap", Name: "a"}, inventory.Key{Kind: "ConfigMap", Name: "b"}
	forbidden := &Failure{Reason: ReasonForbidden, Message: "may not", Terminal: true}
	d.wroteInVain(a, forbidden, now)
	d.readInVain(b, forbidden, now)
	if d.readSucceeded(a) || d.refuse(b, now) == nil {
		t.Error("b may be tried because a can be read")
	}
	if !d.readSucceeded(b) || d.refuse(a, now) != nil {
		t.Error("a may not be tried although b can be read now")
	}
}

// Of many objects that failed for good, a few are tried again soon, and later one every ten
// minutes.
func TestFailuresAreTriedMoreRarely(t *testing.T) {
	d, began := NewDamper(), time.Now()
	forbidden := &Failure{Reason: ReasonForbidden, Message: "may not", Terminal: true}
	var keys []inventory.Key
	for i := range 100 {
		keys = append(keys, inventory.Key{Kind: "ConfigMap", Name: fmt.Sprint("c", i)})
		d.wroteInVain(keys[i], forbidden, began)
	}
	tries := func(from, to time.Duration) (n int) {
		for at := from; at < to; at += time.Second {
			for _, key := range keys {
				if d.refuse(key, began.Add(at)) == nil {
					d.wroteInVain(key, forbidden, began.Add(at))
					n++
				}
			}
		}
		return n
	}
	if n := tries(0, 10*time.Second); n != 10*maxRetries {
		t.Errorf("%d tries in the first ten seconds", n)
	}
	tries(10*time.Second, 5*time.Hour)
	if n := tries(5*time.Hour, 10*time.Hour); n > 30 {
		t.Errorf("%d tries in five hours", n)
	}
}
