package effect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

const patience = 3 * time.Minute

// The effects of a message with a name and data on ConfigMaps.
var (
	applies = v1alpha1.ReceiverEffect{Apply: &v1alpha1.ReceiverApply{Object: `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": body.name}, "data": body.data}`}}
	// asksOne requests a reconciliation of the ConfigMap b.
	asksOne = v1alpha1.ReceiverEffect{Reconcile: &v1alpha1.ReceiverReconcile{APIVersion: "v1", Kind: "ConfigMap", ReceiverTarget: v1alpha1.ReceiverTarget{Name: "b"}}}
	asks    = v1alpha1.ReceiverEffect{Reconcile: &v1alpha1.ReceiverReconcile{
		APIVersion: "v1", Kind: "ConfigMap",
		ReceiverTarget: v1alpha1.ReceiverTarget{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"asked": "yes"}}, When: "object.metadata.name == body.name"},
	}}
)

// replica is a process with a connection of its own.
type replica struct {
	*Effects
	proxy     *faults.Proxy
	namespace string
}

// newReplica returns a replica.
func newReplica(t *testing.T, c *harness.Cluster) *replica {
	t.Helper()
	proxy := c.Proxy(t, 1)
	client, err := dynamic.NewForConfig(proxy.Config(c.Config))
	if err != nil {
		t.Fatal(err)
	}
	return &replica{&Effects{
		Accounts: administrator{client}, Now: time.Now,
		Mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery())),
		Kinds:  Kinds{[]schema.GroupKind{{Kind: "ConfigMap"}}},
	}, proxy, c.Namespace}
}

// send has a message delivered to a Receiver.
func (r *replica) send(ctx context.Context, do v1alpha1.ReceiverEffect, id, name, value string) (Result, error) {
	a := &v1alpha1.Receiver{}
	a.Namespace, a.Name, a.UID = r.namespace, "hook", types.UID("hook")
	a.Spec.Do = []v1alpha1.ReceiverEffect{do}
	return r.Perform(ctx, a, source.New(id, nil, fmt.Appendf(nil, `{"name": %q, "data": {"value": %q}}`, name, value)))
}

// counts returns the number of requests since the last call, by verb.
func (r *replica) counts() string {
	verbs := map[string]int{}
	for key, n := range r.proxy.Counts() {
		verbs[key.Verb] += n
	}
	r.proxy.Reset()
	return fmt.Sprint(verbs)
}

// receipts returns the receipts of a ConfigMap.
func receipts(t *testing.T, c *harness.Cluster, name string) []entry {
	t.Helper()
	stored, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return parse(stored.Annotations[v1alpha1.AnnotationReceived])
}

// TestRequests counts what messages take of the API server.
func TestRequests(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	r, other := newReplica(t, c), newReplica(t, c)
	for _, step := range []struct {
		what     string
		replica  *replica
		id, name string
		result   Result
		want     string
	}{
		{"a new object", r, "1", "a", Result{Changed: 1}, "map[apply:1]"},
		{"another one", r, "2", "b", Result{Changed: 1}, "map[apply:1]"},
		{"a change", r, "3", "a", Result{Changed: 1}, "map[apply:1]"},
		{"another change", r, "4", "a", Result{Changed: 1}, "map[apply:1]"},
		{"a repetition", r, "3", "a", Result{Repeated: 1}, "map[get:1]"},
		{"a change after it", r, "5", "a", Result{Changed: 1}, "map[apply:1]"},
		{"another replica", other, "6", "a", Result{Changed: 1}, "map[apply:2 get:1]"},
		{"the same replica again", other, "7", "a", Result{Changed: 1}, "map[apply:1]"},
		{"the object has another version", r, "8", "a", Result{Changed: 1}, "map[apply:2 get:1]"},
		{"a request", r, "9", "", Result{Changed: 1}, "map[get:1 patch:1]"},
		{"another request", r, "10", "", Result{Changed: 1}, "map[patch:1]"},
		{"a repeated request", r, "9", "", Result{Repeated: 1}, "map[get:1]"},
		{"a request after it", r, "11", "", Result{Changed: 1}, "map[get:1 patch:1]"},
		{"a request of another replica", other, "12", "", Result{Changed: 1}, "map[get:1 patch:1]"},
		{"the requested object has another version", r, "13", "", Result{Changed: 1}, "map[get:1 patch:2]"},
	} {
		do := applies
		if step.name == "" {
			do = asksOne
		}
		result, err := step.replica.send(t.Context(), do, step.id, step.name, step.id)
		if got := step.replica.counts(); err != nil || result != step.result || got != step.want {
			t.Errorf("%s: %+v with %s, want %+v with %s: %v", step.what, result, got, step.result, step.want, err)
		}
	}
	if a, b := len(receipts(t, c, "a")), len(receipts(t, c, "b")); a != 7 || b != 6 {
		t.Errorf("%d and %d receipts", a, b)
	}
	// The fields have one manager, also after changes by another replica.
	stored, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || len(stored.ManagedFields) != 1 || !strings.HasPrefix(stored.ManagedFields[0].Manager, "pequod-receiver/hook/") || stored.Data["value"] != "8" {
		t.Errorf("data %v, managers %v: %v", stored.Data, stored.ManagedFields, err)
	}
	// An object that was deleted is made again.
	if err := c.Client.CoreV1().ConfigMaps(c.Namespace).Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"8", "9"} {
		if result, err := r.send(t.Context(), applies, id, "a", id); err != nil || result.Changed != 1 {
			t.Errorf("message %s: %+v: %v", id, result, err)
		}
	}
}

// TestNewObjectOnce has two replicas get messages at once for an object that doesn't exist yet: the
// same message has its effect once, and different ones don't overwrite each other's receipts.
func TestNewObjectOnce(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	replicas := []*replica{newReplica(t, c), newReplica(t, c)}
	watcher, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	const times = 20
	var done, again int
	for i := range times {
		var results [4]Result
		var failed [4]error
		var senders sync.WaitGroup
		for n := range results {
			senders.Go(func() {
				name, id := fmt.Sprint("same-", i), "same"
				if n >= 2 {
					name, id = fmt.Sprint("different-", i), fmt.Sprint("different-", n)
				}
				results[n], failed[n] = replicas[n%2].send(t.Context(), applies, id, name, id)
			})
		}
		senders.Wait()
		if err := errors.Join(failed[:]...); err != nil {
			t.Fatal(err)
		}
		done += results[0].Changed + results[1].Changed
		again += results[0].Repeated + results[1].Repeated
		if n := len(receipts(t, c, fmt.Sprint("same-", i))); n != 1 {
			t.Errorf("the same message has %d receipts", n)
		}
		if n := len(receipts(t, c, fmt.Sprint("different-", i))); n != 2 {
			t.Errorf("two messages have %d receipts", n)
		}
	}
	if done != times || again != times {
		t.Errorf("%d effects, %d repetitions", done, again)
	}
	// The last write of another object shows that all writes before it were seen.
	if _, err := replicas[0].send(t.Context(), applies, "last", "last", ""); err != nil {
		t.Fatal(err)
	}
	writes := map[string]int{}
	for writes["last"] == 0 {
		select {
		case event := <-watcher.ResultChan():
			object, ok := event.Object.(metav1.Object)
			if !ok {
				t.Fatalf("%v", event)
			}
			writes[object.GetName()]++
		case <-time.After(patience):
			t.Fatal("the watch shows nothing")
		}
	}
	for i := range times {
		if n := writes[fmt.Sprint("same-", i)]; n != 1 {
			t.Errorf("the same message was written %d times", n)
		}
	}
}

// TestSharedWrites has many messages request reconciliations of one object at once. They share writes,
// each of them is acknowledged after a write that has its receipt, and none has its effect twice.
func TestSharedWrites(t *testing.T) {
	t.Parallel()
	c := harness.Start(t)
	r := newReplica(t, c)
	c.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, labels: {asked: "yes"}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: two, labels: {asked: "yes"}}}`)
	// While the first message waits for its write, the others arrive.
	r.proxy.Inject(faults.Rule{Verbs: []string{"patch"}, Times: 1, Faults: []faults.Fault{faults.Delay{For: 2 * time.Second}}})
	const messages = 40
	var senders sync.WaitGroup
	var mu sync.Mutex
	var sum Result
	for i := range messages {
		for range 2 { // each of them is delivered twice
			senders.Go(func() {
				id := fmt.Sprint("message-", i)
				result, err := r.send(t.Context(), asks, id, "one", "")
				if err != nil {
					t.Error(err)
					return
				}
				has := false
				for _, e := range receipts(t, c, "one") {
					has = has || e.receipt == receiptOf("hook", 0, id)
				}
				if !has {
					t.Errorf("%s was acknowledged before its effect", id)
				}
				mu.Lock()
				defer mu.Unlock()
				sum.Changed += result.Changed
				sum.Repeated += result.Repeated
			})
		}
	}
	senders.Wait()
	if sum != (Result{Changed: messages, Repeated: messages}) {
		t.Errorf("%+v", sum)
	}
	writes := r.proxy.Count(func(q faults.Request) bool { return q.Verb == "patch" })
	lists := r.proxy.Count(func(q faults.Request) bool { return q.Verb == "list" })
	if writes > messages/2 || lists > messages {
		t.Errorf("%d writes, %d lists", writes, lists)
	}
	t.Logf("%d deliveries: %d writes, %d lists", 2*messages, writes, lists)
	if n := len(receipts(t, c, "two")); n != 0 {
		t.Errorf("the other object has %d receipts", n)
	}
}

// TestBatches checks that no caller gets the result of a call that began before it, that a call has a
// limited number of callers, and that a caller leaves when its time is over.
func TestBatches(t *testing.T) {
	t.Parallel()
	var b batches[int]
	begun, release := make(chan int), make(chan struct{})
	call := func(_ context.Context, items []*int) {
		begun <- len(items)
		<-release
		for _, item := range items {
			*item++
		}
	}
	var callers sync.WaitGroup
	var items [maxBatch + 2]int
	join := func(i int) {
		callers.Go(func() {
			if err := b.join(t.Context(), "name", maxBatch, &items[i], call); err != nil {
				t.Error(err)
			}
		})
	}
	join(0)
	if n := <-begun; n != 1 {
		t.Errorf("the first call has %d items", n)
	}
	for i := range items[1:] {
		join(1 + i)
	}
	waiting := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.of["name"].waiting)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if n := waiting(); n != maxBatch+1 {
			return fmt.Errorf("%d callers wait", n)
		}
		return nil
	})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var left int
	if err := b.join(ended, "name", maxBatch, &left, call); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller got %v", err)
	}
	release <- struct{}{}
	for _, want := range []int{maxBatch, 2} {
		if n := <-begun; n != want {
			t.Errorf("%d items, want %d", n, want)
		}
		release <- struct{}{}
	}
	callers.Wait()
	for i, n := range items {
		if n != 1 {
			t.Errorf("item %d was processed %d times", i, n)
		}
	}
	harness.Eventually(t, patience, func(context.Context) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.of) != 0 {
			return fmt.Errorf("%d names are left", len(b.of))
		}
		return nil
	})
}
