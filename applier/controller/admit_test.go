package controller

import (
	"context"
	"slices"
	"strings"
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
func (byFirstDigit) Selector([]int) string                  { return "" }
func (byFirstDigit) Without([]int) []string                 { return nil }
func (byFirstDigit) Run(context.Context, shards.Work) error { return nil }

// Events of a shard that is taken are dropped until the list has its graphs, as are those of others.
// A list says nothing about graphs of shards that were taken after it began.
func TestAdmit(t *testing.T) {
	c := offline(t)
	c.Shards = byFirstDigit{}
	c.division = division{changed: make(chan struct{}, 1), held: map[int]bool{}}
	store := &graphStore{c: c}
	graph := func(name, uid, version string) *v1alpha1.ResourceGraph {
		return &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version}}
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
	c.Take(1)
	_ = store.Add(graph("early", "1a", "5"))
	_ = store.Add(graph("stranger", "2", "4"))
	want("early", "", false)

	c.division.held[1] = true // a watch begins
	_ = store.Replace([]any{graph("early", "1a", "6"), graph("stranger", "2", "4")}, "10")
	_ = store.Update(graph("late", "1b", "11"))
	_ = store.Delete(graph("late", "1b", "12"))
	_ = store.Update(graph("stranger", "2", "13"))
	want("early", "6", false)
	want("late", "11", true)
	want("stranger", "", false)

	// Shard 2 is taken. The graph of shard 1 is gone, and what the list lacks of shard 2 isn't.
	c.Take(2)
	if !c.gaining.Load() {
		t.Error("a shard is not covered")
	}
	c.graphChanged(graph("former", "2b", "7"), false)
	_ = store.Replace([]any{graph("stranger", "2", "14")}, "15")
	want("early", "6", true)
	want("stranger", "", false)
	want("former", "7", false)
	if !c.gaining.Load() {
		t.Error("a shard is not covered")
	}
}

// A shard is given up although another graph, of another shard, takes over the name of one of its
// graphs meanwhile.
func TestLeaveRecreatedGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := offline(t)
		c.Shards, c.forgotten.L = byFirstDigit{}, &c.mu
		c.division = division{changed: make(chan struct{}, 1), held: map[int]bool{1: true, 2: true}}
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
	c.division = division{changed: make(chan struct{}, 1), held: map[int]bool{1: true}}
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

// sharing is a store that shares the watch. It keeps the names that it got.
type sharing struct{ names []string }

func (s *sharing) name(obj any) error {
	s.names = append(s.names, obj.(*v1alpha1.ResourceGraph).Name)
	return nil
}
func (s *sharing) Add(obj any) error     { return s.name(obj) }
func (s *sharing) Update(obj any) error  { return s.name(obj) }
func (s *sharing) Delete(obj any) error  { return s.name(obj) }
func (s *sharing) Bookmark(string) error { return nil }
func (s *sharing) Resync() error         { return nil }
func (s *sharing) Replace(list []any, _ string) error {
	for _, obj := range list {
		_ = s.name(obj)
	}
	return nil
}

// A store that shares the watch gets all graphs, and the controller executes those that it executes
// without one. A graph that it stops to execute has no driver any more.
func TestSharedWatch(t *testing.T) {
	c, shared := offline(t), &sharing{}
	c.Namespace, c.Operator = "shop", &Operator{Graphs: shared}
	store := &graphStore{c: c}
	graph := func(namespace, name, label, version string) *v1alpha1.ResourceGraph {
		return &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: version, Labels: map[string]string{v1alpha1.LabelOperator: label},
		}}
	}
	want := func(executed ...string) {
		t.Helper()
		var names []string
		for key, d := range c.all() {
			if !d.inbox.deleted {
				names = append(names, key.Name)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, executed) {
			t.Errorf("executed: %q; want %q", names, executed)
		}
	}
	list := func() []any {
		return []any{graph("shop", "a", "true", "1"), graph("shop", "b", "rendered", "2"), graph("other", "c", "true", "3"), graph("shop", "d", "true", "4")}
	}
	_ = store.Replace(list(), "10")
	want("a", "d")
	_ = store.Update(graph("shop", "a", "rendered", "11"))
	_ = store.Update(graph("shop", "b", "true", "12"))
	_ = store.Add(graph("other", "e", "true", "13"))
	_ = store.Delete(graph("shop", "d", "true", "14"))
	want("b")
	if got := strings.Join(shared.names, ""); got != "abcdabed" {
		t.Errorf("the store got %s", got)
	}
	_ = store.Replace(list()[:2], "20")
	want("a")
}
