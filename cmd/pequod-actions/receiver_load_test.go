package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
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
	written := e.watchOrders(t)
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
	harness.Eventually(t, patience, func(context.Context) error {
		if all, _ := written.counts(); all != messages {
			return fmt.Errorf("%d orders", all)
		}
		return nil
	})
	if _, twice := written.counts(); len(twice) > 0 {
		t.Errorf("applied more than once: %v", twice)
	}
}
