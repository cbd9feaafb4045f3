package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/process"
)

// The messages of each part of the load, the connections of their sender, and the objects of the parts
// that change the same ones again and again. Each of these objects remembers 100 messages.
const (
	loadMessages = 5000
	loadSenders  = 256
	loadObjects  = loadMessages / 100
)

// TestReceiverLoad sends messages as fast as one replica takes them, and measures how many are
// acknowledged in a second: such that a filter leaves out, such that request reconciliations of a few
// objects, such that apply new objects, and such that change a few objects again and again. Each effect
// happens once. What the API server takes without a Receiver is the most that there can be.
func TestReceiverLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	e := newEnv(t)
	e.Apply(t, strings.Replace(hookRights, "resources: [actions], verbs: [get, list, patch]}", `resources: [actions], verbs: [get, list, patch]}
- {apiGroups: [shop.example.com], resources: [orders], verbs: [list]}`, 1)+"---"+orders)
	address := process.FreeAddress(t)
	l := &load{env: e, address: "http://" + address}
	l.p = e.run(t, "--receiver-kinds=Order.shop.example.com", "--receiver-addr="+address)
	e.receiver(t, "hook", "\n  source: {webhook: {type: github, secretRef: {name: hook}}}\n  filter: body.size > 0"+applyOrder)
	e.receiver(t, "asks", `
  source: {webhook: {type: github, secretRef: {name: hook}}}
  do:
  - reconcile: {apiVersion: shop.example.com/v1, kind: Order, selector: {}, when: object.metadata.name == body.name}
`)
	hook, asks := e.receiving(t, "hook", "Receiving"), e.receiving(t, "asks", "Receiving")
	few := func(kind string) func(int) string {
		return func(i int) string { return fmt.Sprintf(`{"name": "%s-%d", "size": %d}`, kind, i%loadObjects, 1+i%10) }
	}
	l.flood(t, "left out", hook, func(i int) string { return fmt.Sprintf(`{"name": "order-%d", "size": 0}`, i) })
	for i := range loadObjects {
		e.Apply(t, fmt.Sprintf("{apiVersion: shop.example.com/v1, kind: Order, metadata: {name: asked-%d}, spec: {size: 1}}", i))
	}
	written := e.watchOrders(t)
	l.flood(t, "reconciliations of the same objects", asks, few("asked"))
	l.plain(t, "plain")
	l.flood(t, "new objects", hook, func(i int) string { return fmt.Sprintf(`{"name": "order-%d", "size": 1}`, i) })
	l.plain(t, "plain-again")
	l.flood(t, "changes of the same objects", hook, few("changed"))
	list, err := e.Await(t, "shop.example.com/v1", "Order", "").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	objects := 0
	for _, order := range list.Items {
		name, want := order.GetName(), loadMessages/loadObjects
		switch {
		case strings.HasPrefix(name, "plain-"):
			continue
		case strings.HasPrefix(name, "order-"):
			want = 1
			if order.GetGeneration() != 1 {
				t.Errorf("%s: generation %d", name, order.GetGeneration())
			}
		}
		objects++
		if n := strings.Count(order.GetAnnotations()["pequod.io/received"], ":"); n != want {
			t.Errorf("%s: %d messages", name, n)
		}
	}
	if objects != loadMessages+2*loadObjects {
		t.Errorf("%d orders", objects)
	}
	written.mu.Lock()
	requests := 0
	for name, n := range written.of {
		if strings.HasPrefix(name, "asked-") {
			requests += n
		}
	}
	written.mu.Unlock()
	t.Logf("%d requests for reconciliations were %d writes", loadMessages, requests)
	e.metrics(t, l.p, fmt.Sprintf(`pequod_receiver_deliveries_total{result="done",source="webhook"} %d`, 3*loadMessages))
}

// load is a process that gets messages.
type load struct {
	*env
	p       *process.Process
	address string
}

// flood sends messages to a webhook, and logs how many are acknowledged in a second.
func (l *load) flood(t *testing.T, what, path string, body func(int) string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: loadSenders}}
	var busy atomic.Int32
	_, cpu := usage(t, l.p)
	server := serverTime(t)
	took := each(func(i int) {
		for {
			code := sendWith(t, client, l.address+path, fmt.Sprint(what, i), body(i), nil)
			if code == 200 {
				return
			}
			if code != 429 && code != 503 && code != 0 {
				t.Errorf("the answer is %d", code)
				return
			}
			busy.Add(1)
			time.Sleep(20 * time.Millisecond) // as a sender does
		}
	})
	memory, end := usage(t, l.p)
	t.Logf("%s: %d messages in %s, %.0f in a second, %.2f ms of a core each, and %.2f ms of the API server, %d answers 429 or 503, %d MB", what, loadMessages,
		took.Round(10*time.Millisecond), loadMessages/took.Seconds(), (end-cpu)/loadMessages*1000, (serverTime(t)-server)/loadMessages*1000, busy.Load(), memory>>20)
}

// serverTime returns the time that control planes of this process have used a core, in seconds.
func serverTime(t *testing.T) (total float64) {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil && stat.PPID == os.Getpid() && strings.HasPrefix(stat.Comm, "testcluster") {
			total += stat.CPUTime()
		}
	}
	return total
}

// plain applies as many objects as fast as the API server takes them, without a Receiver.
func (l *load) plain(t *testing.T, name string) {
	t.Helper()
	server := serverTime(t)
	orders := l.Await(t, "shop.example.com/v1", "Order", "")
	took := each(func(i int) {
		order := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "shop.example.com/v1", "kind": "Order", "spec": map[string]any{"size": int64(1)},
			"metadata": map[string]any{"name": fmt.Sprint(name, "-", i), "annotations": map[string]any{"pequod.io/received": "AAAAAAAAAAAAAAAA:tgwk2p"}},
		}}
		if _, err := orders.Apply(t.Context(), order.GetName(), order, metav1.ApplyOptions{FieldManager: "plain"}); err != nil {
			t.Error(err)
		}
	})
	t.Logf("without a Receiver: %d objects applied in %s, %.0f in a second, %.2f ms of the API server each", loadMessages,
		took.Round(10*time.Millisecond), loadMessages/took.Seconds(), (serverTime(t)-server)/loadMessages*1000)
}

// each calls f for each message, as many at once as there are senders.
func each(f func(int)) time.Duration {
	began := time.Now()
	next := make(chan int)
	var senders sync.WaitGroup
	for range loadSenders {
		senders.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range loadMessages {
		next <- i
	}
	close(next)
	senders.Wait()
	return time.Since(began)
}
