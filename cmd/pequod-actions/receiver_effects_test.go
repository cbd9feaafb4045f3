package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// orders is a kind of instances, and what the account runner needs to apply them.
const orders = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: orders.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {kind: Order, plural: orders}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer, maximum: 10}}}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: orders}
rules:
- {apiGroups: [shop.example.com], resources: [orders], verbs: [get, create, patch]}
- {apiGroups: [""], resources: [secrets], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: orders}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: orders}
subjects: [{kind: ServiceAccount, name: runner}]
`

// applyOrder is the effect of a message about an order.
const applyOrder = `
  do:
  - apply: {object: '{"apiVersion": "shop.example.com/v1", "kind": "Order", "metadata": {"name": body.name}, "spec": {"size": body.size}}'}
`

// writes counts the writes of each order, from now until the test ends.
type writes struct {
	mu sync.Mutex
	of map[string]int
}

// watchOrders counts the writes of orders. A watch that the API server ends goes on where it was.
func (e *env) watchOrders(t *testing.T) *writes {
	t.Helper()
	w := &writes{of: map[string]int{}}
	orders := e.Await(t, "shop.example.com/v1", "Order", "")
	list, err := orders.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(t.Context(), list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return orders.Watch(ctx, o) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			if o, ok := event.Object.(*unstructured.Unstructured); ok && (event.Type == watch.Added || event.Type == watch.Modified) {
				w.mu.Lock()
				w.of[o.GetName()]++
				w.mu.Unlock()
			}
		}
	}()
	return w
}

// counts returns the number of orders that were written, and those that were written more than
// once.
func (w *writes) counts() (all int, twice []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, n := range w.of {
		if n > 1 {
			twice = append(twice, name)
		}
	}
	return len(w.of), twice
}

// TestReceiverBurst sends 1,000 messages at once, each of them twice, to two replicas, and kills
// one of them with -9 in between. Senders repeat what wasn't acknowledged. Each message has its
// effect once.
func TestReceiverBurst(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, hookRights+"---"+orders)
	addresses := []string{process.FreeAddress(t), process.FreeAddress(t)}
	kinds := "--receiver-kinds=Order.shop.example.com"
	victim := e.run(t, append(withoutLease, kinds, "--receiver-addr="+addresses[0])...)
	e.run(t, append(withoutLease, kinds, "--receiver-addr="+addresses[1])...)
	e.receiver(t, "hook", "\n  source: {webhook: {type: github, secretRef: {name: hook}}}"+applyOrder)
	path := e.receiving(t, "hook", "Receiving")
	for _, address := range addresses {
		harness.Eventually(t, patience, func(context.Context) error {
			if code := send(t, "http://"+address+path, "ping", `{"name": "ping", "size": 1}`, nil); code != 200 {
				return fmt.Errorf("the answer is %d", code)
			}
			return nil
		})
	}
	written := e.watchOrders(t)
	const messages = 1000
	var acknowledged atomic.Int32
	var senders sync.WaitGroup
	turn := make(chan struct{}, 64) // connections
	for i := range 2 * messages {
		senders.Go(func() {
			n := i % messages
			delivery, body := fmt.Sprint("burst-", n), fmt.Sprintf(`{"name": "order-%d", "size": %d}`, n, n%10)
			for try := 0; ; try++ {
				turn <- struct{}{}
				code := send(t, "http://"+addresses[(i+try)%2]+path, delivery, body, nil)
				<-turn
				if code == 200 {
					break
				}
				if code != 0 && code != 429 && code != 503 {
					t.Errorf("%s: the answer is %d", delivery, code)
					return
				}
			}
			if acknowledged.Add(1) == messages/2 {
				_ = victim.Cmd.Process.Kill() // it runs
			}
		})
	}
	senders.Wait()
	<-victim.Done
	stored, err := e.Await(t, "shop.example.com/v1", "Order", "").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(stored.Items) != messages+1 { // and the ping
		t.Errorf("all messages are acknowledged, and %d orders are stored: %v", len(stored.Items), err)
	}
	harness.Eventually(t, patience, func(context.Context) error {
		if all, _ := written.counts(); all < messages {
			return fmt.Errorf("%d orders", all)
		}
		return nil
	})
	all, twice := written.counts()
	if all > messages || len(twice) > 0 {
		t.Errorf("%d orders; more than once: %v", all, twice)
	}
	order := e.Get(t, "shop.example.com/v1", "Order", "order-7")
	if size, _, _ := unstructured.NestedInt64(order.Object, "spec", "size"); size != 7 {
		t.Errorf("order: %v", order.Object)
	}
	if fields := order.GetManagedFields(); len(fields) != 1 || !strings.HasPrefix(fields[0].Manager, "pequod-receiver/hook/") || fields[0].Operation != "Apply" {
		t.Errorf("managers: %v", fields)
	}
}

// TestReceiverRefused refuses messages whose objects are not allowed or not valid, and Receivers
// that can't work.
func TestReceiverRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, hookRights+"---"+orders)
	address := process.FreeAddress(t)
	e.run(t, "--receiver-addr="+address, "--receiver-kinds=Order.shop.example.com,Other.shop.example.com")
	e.receiver(t, "hook", `
  source: {webhook: {type: github, secretRef: {name: hook}}}
  do: [{apply: {object: body}}]
`)
	url := "http://" + address + e.receiving(t, "hook", "Receiving")
	for name, test := range map[string]struct {
		object string
		code   int
	}{
		"valid":           {`{"kind": "Order", "metadata": {"name": "a"}, "spec": {"size": 1}}`, 200},
		"not in the CRD":  {`{"kind": "Order", "metadata": {"name": "b"}, "spec": {"size": 11}}`, 422},
		"another kind":    {`{"kind": "Secret", "metadata": {"name": "c"}}`, 422},
		"no such kind":    {`{"kind": "Other", "metadata": {"name": "d"}}`, 500},
		"another place":   {`{"kind": "Order", "metadata": {"name": "e", "namespace": "kube-system"}}`, 422},
		"a finalizer":     {`{"kind": "Order", "metadata": {"name": "f", "finalizers": ["x/y"]}}`, 422},
		"without a name":  {`{"kind": "Order", "metadata": {"generateName": "g"}}`, 422},
		"not an object":   {`3`, 422},
		"another manager": {`{"kind": "Order", "metadata": {"name": "taken"}, "spec": {"size": 2}}`, 500},
	} {
		if name == "another manager" {
			e.Apply(t, `{apiVersion: shop.example.com/v1, kind: Order, metadata: {name: taken}, spec: {size: 1}}`)
		}
		body := strings.Replace(test.object, "{", `{"apiVersion": "shop.example.com/v1", `, 1)
		if code := send(t, url, name, body, nil); code != test.code {
			t.Errorf("%s: the answer is %d, want %d", name, code, test.code)
		}
	}
	e.AwaitEvent(t, patience, "Receiver", "hook", "MessageRefused", "do[0]")
	for name, spec := range map[string]string{
		"kind":   "\n  source: {webhook: {type: github, secretRef: {name: hook}}}\n  do: [{reconcile: {kind: Secret, apiVersion: v1, name: x}}]",
		"filter": "\n  source: {webhook: {type: github, secretRef: {name: hook}}}\n  filter: nonsense.x\n  do: [{reconcile: {kind: Action, name: x}}]",
	} {
		e.receiver(t, name, spec)
		e.receiving(t, name, "InvalidReceiver")
	}
	e.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: short}, stringData: {token: canary-short}}")
	e.receiver(t, "short", "\n  source: {webhook: {type: generic, secretRef: {name: short}}}\n  do: [{reconcile: {kind: Action, name: x}}]")
	if path := e.receiving(t, "short", "SecretUnavailable"); path != "" {
		t.Errorf("a short token has the path %s", path)
	}
}

// TestReceiverPolls applies the items of a document, one for each of its keys, although the
// program is killed in between. An item that can't be applied is given up, and recorded.
func TestReceiverPolls(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	// As kubectl create secret --from-file makes it.
	e.Apply(t, strings.Replace(hookRights, hookToken, `"`+hookToken+`\n"`, 1)+"---"+orders)
	written := e.watchOrders(t)
	var unchanged atomic.Int32
	feed := newFeed(t, `[{"name": "a", "size": 1}, {"name": "b", "size": 99}, {"name": "c", "size": 3}]`, &unchanged)
	start := func() *process.Process {
		return e.run(t, append(withoutLease, "--receiver-kinds=Order.shop.example.com")...)
	}
	p := start()
	e.receiver(t, "feed", fmt.Sprintf("\n  source: {poll: {url: %s, auth: {tokenSecretRef: {name: hook, key: token}}, every: 10s, items: body, key: item.name}}", feed)+applyOrder)
	e.receiving(t, "feed", "Receiving")
	harness.Eventually(t, patience, func(context.Context) error {
		if all, _ := written.counts(); all != 2 {
			return fmt.Errorf("%d orders", all)
		}
		return nil
	})
	// The last write of a poll has its state. Without it, what was given up is given up again.
	harness.Eventually(t, patience, func(context.Context) error {
		r := e.Get(t, "platform.pequod.io/v1alpha1", "Receiver", "feed")
		if done, _, _ := unstructured.NestedSlice(r.Object, "status", "poll", "done"); len(done) != 3 {
			return fmt.Errorf("%d items are done: %v", len(done), r.Object["status"])
		}
		return nil
	})
	e.AwaitEvent(t, patience, "Receiver", "feed", "MessageBuried", "spec.size") // a process that is killed sends none
	_ = p.Cmd.Process.Kill()                                                    // it runs
	<-p.Done
	before := unchanged.Load()
	start()
	harness.Eventually(t, patience, func(context.Context) error {
		if unchanged.Load() == before {
			return fmt.Errorf("no poll has been answered with 304")
		}
		return nil
	})
	if all, twice := written.counts(); all != 2 || len(twice) > 0 {
		t.Errorf("%d orders, twice: %v", all, twice)
	}
	r := e.Get(t, "platform.pequod.io/v1alpha1", "Receiver", "feed")
	letters, _, _ := unstructured.NestedSlice(r.Object, "status", "deadLetters")
	if len(letters) != 1 || letters[0].(map[string]any)["id"] != "b" {
		t.Errorf("dead letters: %v", letters)
	}
}

// newFeed serves a document with an ETag, and counts the answers 304.
func newFeed(t *testing.T, text string, unchanged *atomic.Int32) (url string) {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+hookToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Header.Get("If-None-Match") == `"1"` {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"1"`)
		_, _ = w.Write([]byte(text)) // the client may be gone
	})
}
