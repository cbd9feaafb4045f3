package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/resolve"
	"github.com/pequod-io/pequod/inventory"
)

// expensive returns a graph of n objects whose readiness expressions cost nearly as much
// as one may, and the objects.
func expensive(t *testing.T, n int) (spec string, objects []*unstructured.Unstructured) {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{id: x%d, externalRef: {apiVersion: v1, kind: ConfigMap, name: x%d}, `+
			`readyWhen: [{type: Expression, expr: "object.data.a.split(',').all(a, a != 'z')"}]}`, i, i))
		objects = append(objects, configMap(t, inventory.Owner{}, fmt.Sprintf("x%d", i), "u", 1, strings.Repeat("1,", 2500)))
	}
	return "graph: {nodes: [" + strings.Join(all, ", ") + "]}", objects
}

// ready returns the number of nodes that are ready.
func (b *env) ready() int {
	n := 0
	for _, s := range b.Statuses() {
		if s.Phase == v1alpha1.NodeReady {
			n++
		} else if s.Message != resolve.ErrLater.Error() {
			b.Fatalf("%s: %s %s", s.ID, s.Phase, s.Message)
		}
	}
	return n
}

// Readiness expressions are evaluated in slices, like late references, and the next
// engine of the graph continues the slice.
func TestReadinessIsSliced(t *testing.T) {
	spec, objects := expensive(t, 100)
	damper := NewDamper()
	b := newEnv(t, spec, nil, Options{Damper: damper})
	b.survey(objects...)
	b.step()
	slices := 1
	for n := b.ready(); n < len(objects); slices++ {
		if b.last.Phase != Executing || !b.last.Wake.After(b.now) || slices > 10 {
			t.Fatalf("slice %d: %d are ready, phase %s, woken at %v", slices, n, b.last.Phase, b.last.Wake)
		}
		b.step() // before its time, nothing is evaluated
		if early := b.ready(); early != n {
			t.Fatalf("%d are ready instead of %d, although nothing happened", early, n)
		}
		b.now = b.last.Wake
		b.step()
		if n = b.ready(); n == 0 {
			t.Fatal("none is ready")
		}
	}
	if slices < 2 {
		t.Errorf("all were evaluated in %d slice", slices)
	}
	b.Observe(configMap(t, inventory.Owner{}, "x0", "u", 2, "z"))
	b.step()
	b.wantNode("x0", v1alpha1.NodeProgressing)

	spent := damper.sliceCost
	next := newEnv(t, spec, nil, Options{Damper: damper})
	next.now = b.now
	next.survey(objects...)
	next.step()
	if n := next.ready(); damper.sliceCost < spent || n == len(objects) {
		t.Errorf("the next engine evaluated %d at once; its slice cost %d after %d", n, damper.sliceCost, spent)
	}
}

func (b *env) wantNode(id string, want v1alpha1.NodePhase) {
	b.Helper()
	for _, s := range b.Statuses() {
		if s.ID == id && s.Phase != want {
			b.Errorf("%s is %s; want %s", id, s.Phase, want)
		}
	}
}

// A node that is tried again keeps its status until the outcome is known: it would change
// twice with every try.
func TestRetriesDontShow(t *testing.T) {
	b := newEnv(t, nodes("a"), nil, Options{Damper: NewDamper()})
	b.survey()
	b.step()
	b.answer(Record, Outcome{})
	b.step()
	b.wantShow("a Applying")
	for range 3 {
		b.answer(Apply, Outcome{Err: &Failure{Reason: ReasonWebhookFailed, Message: "no answer"}})
		b.expect("Read a")
		b.answer(Read, Outcome{})
		b.expect("")
		b.wantShow("a Failed WebhookFailed: no answer")
		b.now = b.last.Wake
		b.expect("Apply a")
		b.wantShow("a Failed WebhookFailed: no answer")
		b.step()
		b.wantShow("a Failed WebhookFailed: no answer")
	}
	b.applyNext("u-a", 1)
	b.step()
	b.wantShow("a Ready")
}

// Writes that fail for a long time share trials, by the engines of a graph together.
func TestTrials(t *testing.T) {
	d, began := NewDamper(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now := began
	failure := &Failure{Reason: ReasonWebhookFailed, Message: "no answer"}
	key := func(i int) inventory.Key { return inventory.Key{Kind: "ConfigMap", Name: fmt.Sprint(i)} }
	tried := func(lasts time.Duration) int {
		count := 0
		for end := now.Add(lasts); now.Before(end); now = now.Add(MaxTransientBackoff) {
			for i := range 40 {
				f, next := d.trial(key(i), now)
				if f == nil {
					d.wroteInVain(key(i), failure, now)
					count++
				} else if !next.After(now) {
					t.Fatalf("the next trial is at %v, and now it is %v", next, now)
				}
			}
		}
		return count
	}
	if n := tried(trialTime); n != 40*int(trialTime/MaxTransientBackoff) {
		t.Errorf("%d tries at first", n)
	}
	if _, next := d.trial(key(0), now.Add(-time.Second)); next.Sub(now) > trialTime/10 {
		t.Errorf("after a short outage, the next trial is in %v", next.Sub(now))
	}
	tried(2 * time.Hour)
	if n := tried(time.Hour); n < 10 || n > 15 {
		t.Errorf("%d tries in the third hour", n)
	}
	if f, _ := d.trial(key(40), now); f != nil {
		t.Error("a node that didn't fail has to wait")
	}
	if d.writeSucceeded(key(40)) {
		t.Error("it recovered although it didn't fail")
	}
	if f, _ := d.trial(key(1), now); f == nil {
		t.Error("it is tried although none recovered")
	}
	if !d.writeSucceeded(key(0)) {
		t.Error("none recovered")
	}
	if f, _ := d.trial(key(1), now); f != nil {
		t.Error("it has to wait although another one recovered")
	}
}
