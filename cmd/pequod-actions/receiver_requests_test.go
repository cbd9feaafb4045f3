package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// TestReceiverRequests counts all requests to the API server that messages cause: each message that
// applies an object is one write, and the token is read once for all of them.
func TestReceiverRequests(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, hookRights+"---"+orders)
	proxy := e.Proxy(t, 1)
	e.as = proxy.Config(e.as)
	address := process.FreeAddress(t)
	e.run(t, append(withoutLease, "--receiver-kinds=Order.shop.example.com", "--receiver-addr="+address)...)
	e.receiver(t, "hook", "\n  source: {webhook: {type: github, secretRef: {name: hook}}}"+applyOrder)
	url := "http://" + address + e.receiving(t, "hook", "Receiving")
	harness.Eventually(t, patience, func(context.Context) error { // the index shows the path soon
		if code := send(t, url, "first", `{"name": "first", "size": 1}`, nil); code != 200 {
			return fmt.Errorf("the answer is %d", code)
		}
		return nil
	})
	const messages = 20
	for _, test := range []struct{ name, body string }{
		{"new objects", `{"name": "new-%d", "size": 1}`},
		{"one object", `{"name": "same", "size": 1, "of": %d}`},
	} {
		proxy.Reset()
		for i := range messages {
			if code := send(t, url, fmt.Sprint(test.name, i), fmt.Sprintf(test.body, i), nil); code != 200 {
				t.Errorf("%s: the answer is %d", test.name, code)
			}
		}
		runner := fmt.Sprintf("system:serviceaccount:%s:runner", e.Namespace)
		counts := map[string]int{}
		for _, r := range proxy.Requests() {
			switch {
			case r.As == runner:
				counts[r.Verb+" "+r.Resource]++
			case r.Write():
				t.Errorf("%s: %s %s %s", test.name, r.Verb, r.Resource, r.Name)
			}
		}
		if reads := counts["get secrets"]; reads > 3 { // it is read again after a minute
			t.Errorf("%s: the token was read %d times", test.name, reads)
		}
		delete(counts, "get secrets")
		if len(counts) != 1 || counts["apply orders.shop.example.com"] != messages {
			t.Errorf("%s: %d messages took %v", test.name, messages, counts)
		}
	}
	if all := proxy.Count(func(r faults.Request) bool {
		return r.As == "" && r.Verb == "get" && r.Resource == "orders.shop.example.com"
	}); all != 0 {
		t.Errorf("%d reads were not those of the account", all)
	}
}
