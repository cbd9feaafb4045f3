package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/process"
)

// TestReceiverLoad sends 10,000 messages as fast as one replica takes them: first such that a filter
// leaves out, and then such that have an effect. It measures how many are acknowledged in a second.
// Each effect happens once.
func TestReceiverLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	e := newEnv(t)
	e.Apply(t, hookRights+"---"+orders)
	address := process.FreeAddress(t)
	p := e.run(t, "--receiver-kinds=Order.shop.example.com", "--receiver-addr="+address)
	e.receiver(t, "hook", "\n  source: {webhook: {type: github, secretRef: {name: hook}}}\n  filter: body.size > 0"+applyOrder)
	url := "http://" + address + e.receiving(t, "hook", "Receiving")
	const messages = 10000
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	for _, test := range []struct {
		name string
		size int
	}{{"left out", 0}, {"applied", 1}} {
		_, cpu := usage(t, p)
		began := time.Now()
		var busy atomic.Int32
		var senders sync.WaitGroup
		next := make(chan int)
		for range 64 {
			senders.Go(func() {
				for i := range next {
					body := fmt.Sprintf(`{"name": "order-%d", "size": %d}`, i, test.size)
					for {
						code := sendWith(t, client, url, fmt.Sprint(test.name, i), body, nil)
						if code == 200 {
							break
						}
						if code != 429 && code != 503 && code != 0 {
							t.Errorf("the answer is %d", code)
							break
						}
						busy.Add(1)
						time.Sleep(20 * time.Millisecond) // as a sender does
					}
				}
			})
		}
		for i := range messages {
			next <- i
		}
		close(next)
		senders.Wait()
		took := time.Since(began)
		memory, end := usage(t, p)
		t.Logf("%s: %d messages in %s, %.0f in a second, %.2f ms of a core each, %d answers 429 or 503, %d MB", test.name, messages, took.Round(10*time.Millisecond),
			messages/took.Seconds(), (end-cpu)/messages*1000, busy.Load(), memory>>20)
	}
	list, err := e.Await(t, "shop.example.com/v1", "Order", "").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range list.Items {
		if n := len(strings.Fields(order.GetAnnotations()["pequod.io/received"])); n != 1 || order.GetGeneration() != 1 {
			t.Errorf("%s: %d messages, generation %d", order.GetName(), n, order.GetGeneration())
		}
	}
	if done := fmt.Sprintf("pequod_receiver_deliveries_total{result=\"done\",source=\"webhook\"} %d\n", messages); len(list.Items) != messages || !strings.Contains(e.scrape(t, p), done) {
		t.Errorf("%d orders; the metrics haven't %s", len(list.Items), done)
	}
}
