package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/inventory"
)

func deletingConfigMap(t *testing.T, name string, version int) *unstructured.Unstructured {
	t.Helper()
	return live(t, self, fmt.Sprintf(
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, uid: u-%[1]s, resourceVersion: "%d", deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [x/y]}}`, name, version))
}

// waitingFor returns an engine that waits for the deletion of ConfigMaps.
func waitingFor(t *testing.T, names ...string) *env {
	t.Helper()
	stored := &inventory.Inventory{Owner: self, Revision: "r"}
	var objects []*unstructured.Unstructured
	for _, name := range names {
		key := inventory.Key{Kind: "ConfigMap", Namespace: "default", Name: name}
		stored.Entries = append(stored.Entries, inventory.Entry{Key: key, Version: "v1", UID: types.UID("u-" + key.Name)})
		objects = append(objects, deletingConfigMap(t, name, 1))
	}
	b := &env{T: t, Engine: NewDelete(stored, Options{PollInterval: time.Second}), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	b.survey(objects...)
	return b
}

// polls runs an engine for two minutes and returns the seconds of its polls. Each event
// happens before the step of its time. Polls find objects in this version.
func (b *env) polls(version int, events map[time.Duration]func()) (seconds []string) {
	b.Helper()
	for began := b.now; b.now.Sub(began) <= 2*time.Minute; b.now = b.now.Add(500 * time.Millisecond) {
		if b.step() != "" {
			seconds = append(seconds, fmt.Sprint(b.now.Sub(began).Seconds()))
		}
		for len(b.todo) > 0 {
			if !b.todo[0].Polled {
				b.Fatalf("%s isn't a poll", b.todo[0].Verb)
			}
			b.answer(Read, Outcome{Object: deletingConfigMap(b.T, b.todo[0].Key.Name, version)})
		}
		if event := events[b.now.Sub(began)]; event != nil {
			event()
		}
	}
	return seconds
}

// The objects of a silent watch are polled together, less and less often.
func TestPollsOfASilentWatch(t *testing.T) {
	b := waitingFor(t, "a", "b")
	b.expect("")
	b.now = b.now.Add(time.Second)
	b.expect("Read a, Read b")
	for _, a := range b.todo {
		if !a.Polled {
			t.Errorf("the Read of %s isn't a poll", a.Key.Name)
		}
	}
	b = waitingFor(t, "a", "b")
	if diff := cmp.Diff("1 2 4 8 16 32 62 92", strings.Join(b.polls(1, nil), " ")); diff != "" {
		t.Errorf("seconds of the polls (-want +got):\n%s", diff)
	}
}

// An event of a watch shows that it works, for all objects that it covers. It doesn't for
// others.
func TestPollsOfAWorkingWatch(t *testing.T) {
	event := func(b *env, obj *unstructured.Unstructured) map[time.Duration]func() {
		events := map[time.Duration]func(){}
		for at := range 240 {
			events[time.Duration(at)*500*time.Millisecond] = func() { b.Observe(obj) }
		}
		return events
	}
	const silent = "1 2 4 8 16 32 62 92"
	foreign := deletingConfigMap(t, "c", 1)
	foreign.SetLabels(nil)
	elsewhere := deletingConfigMap(t, "c", 1)
	elsewhere.SetNamespace("elsewhere")
	version := deletingConfigMap(t, "c", 1)
	version.SetAPIVersion("v2")
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"the same object":        {deletingConfigMap(t, "a", 1), ""},
		"another of the graph":   {deletingConfigMap(t, "c", 1), ""},
		"one without labels":     {foreign, silent},
		"one elsewhere":          {elsewhere, silent},
		"one of another version": {version, silent},
	} {
		b := waitingFor(t, "a", "b")
		if diff := cmp.Diff(c.want, strings.Join(b.polls(1, event(b, c.object)), " ")); diff != "" {
			t.Errorf("%s: seconds of the polls (-want +got):\n%s", name, diff)
		}
	}
}

// An event delays the next poll. After a poll that found a change without an event, the
// interval is the shortest again. If an event follows, the watch is only slow, and the interval grows.
func TestPollsAfterNews(t *testing.T) {
	late := map[time.Duration]func(){}
	b := waitingFor(t, "a", "b")
	got := b.polls(1, map[time.Duration]func(){20 * time.Second: func() { b.ObserveGone(deletingConfigMap(t, "b", 2)) }})
	if diff := cmp.Diff("1 2 4 8 16 36 66 96", strings.Join(got, " ")); diff != "" {
		t.Errorf("after an event: seconds of the polls (-want +got):\n%s", diff)
	}
	b = waitingFor(t, "a", "b")
	if diff := cmp.Diff("1 2 3 5 9 17 33 63 93", strings.Join(b.polls(2, nil), " ")); diff != "" {
		t.Errorf("after a change: seconds of the polls (-want +got):\n%s", diff)
	}
	b = waitingFor(t, "a", "b")
	late[1500*time.Millisecond] = func() { b.Observe(deletingConfigMap(t, "a", 2)) }
	if diff := cmp.Diff("1 2.5 4.5 8.5 16.5 32.5 62.5 92.5", strings.Join(b.polls(2, late), " ")); diff != "" {
		t.Errorf("after a change with a late event: seconds of the polls (-want +got):\n%s", diff)
	}
}

// An object that is missing in a list of its watch while it is deleted is gone, unless the
// list is older.
func TestDeletedBeforeAList(t *testing.T) {
	b := waitingFor(t, "a", "b")
	b.Observe(deletingConfigMap(t, "b", 5))
	b.ObserveAll(schema.GroupKind{Kind: "ConfigMap"}, "default", "", "4", nil)
	b.expect("")
	if got := b.show(); !strings.HasPrefix(got, "a Gone\nb Deleting") {
		t.Errorf("statuses:\n%s", got)
	}
}
