package controller

import (
	"context"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/shards"
)

// byFirstDigit are shards by the first digit of the UID.
type byFirstDigit struct{}

func (byFirstDigit) Of(uid types.UID) int                   { return int(uid[0] - '0') }
func (byFirstDigit) Run(context.Context, shards.Work) error { return nil }

// Events of a shard that is taken are dropped if the list of its graphs has them, and delivered
// otherwise.
func TestAdmit(t *testing.T) {
	c := offline(t)
	c.Shards = byFirstDigit{}
	c.division = division{changed: make(chan struct{}, 1), held: map[int]*heldShard{}}
	report := func(name, uid, version string, deleted bool) {
		c.reported(graphEvent{deleted: deleted, rg: &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version,
		}}})
	}
	want := func(name, version string, deleted bool) {
		t.Helper()
		d := c.find(types.NamespacedName{Namespace: "shop", Name: name})
		switch {
		case d == nil && version == "":
		case d == nil || version == "":
			t.Errorf("%s is executed: %t", name, d != nil)
		case d.inbox.version != version || d.inbox.deleted != deleted:
			t.Errorf("%s is known in version %s, deleted: %t", name, d.inbox.version, d.inbox.deleted)
		}
	}
	report("stranger", "2", "4", false)
	c.Take(1)
	report("early", "1a", "5", false)
	report("late", "1b", "12", false)
	want("late", "", false) // the version of the list isn't known
	taken := c.listBegins("10")
	if taken[1] == nil || taken[1] != c.division.held[1] || len(taken) != 1 {
		t.Errorf("taken: %v", taken)
	}
	report("outdated", "1c", "10", false)
	report("new", "1d", "11", false)
	report("late", "1b", "13", true)
	report("stranger", "2", "14", false)
	want("stranger", "", false)
	want("early", "", false)
	want("outdated", "", false)
	want("late", "12", true)
	want("new", "11", false)

	// After all graphs were listed, there are no earlier events.
	c.division.allListed()
	report("outdated", "1c", "9", false)
	want("outdated", "9", false)
	if c.division.later != nil {
		t.Error("a list that was begun before is still handed over")
	}
}

// A shard is given up although another graph, of another shard, takes over the name of one of its
// graphs meanwhile.
func TestLeaveRecreatedGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := offline(t)
		c.Shards, c.forgotten.L = byFirstDigit{}, &c.mu
		c.division = division{changed: make(chan struct{}, 1), held: map[int]*heldShard{1: {listed: true}, 2: {listed: true}}}
		report := func(uid types.UID, version string) {
			c.reported(graphEvent{rg: &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: uid, ResourceVersion: version}}})
		}
		report("1a", "1")
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			c.Leave(ctx, 1)
			close(left)
		}()
		synctest.Wait() // until it waits for the driver
		report("2a", "2")
		synctest.Wait()
		select {
		case <-left:
		default:
			t.Error("the shard isn't given up")
		}
		cancel()
		<-left
	})
}

// A graph that moves to another replica isn't taken for a deleted one.
func TestLeft(t *testing.T) {
	c := offline(t)
	c.Shards = byFirstDigit{}
	c.division = division{changed: make(chan struct{}, 1), held: map[int]*heldShard{1: {listed: true}}}
	for name, uid := range map[string]types.UID{"moves": "1a", "gone": "1b"} {
		c.reported(graphEvent{rg: &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, ResourceVersion: "1"}}})
	}
	find := func(name string) *driver { return c.find(types.NamespacedName{Name: name}) }
	find("gone").inbox.graphDeleted()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // without waiting for the drivers
	c.Leave(ctx, 1)
	for name, left := range map[string]bool{"moves": true, "gone": false} {
		if m := find(name).inbox.take(); !m.deleted || m.left != left {
			t.Errorf("%s: deleted %t, left %t", name, m.deleted, m.left)
		}
	}
}
