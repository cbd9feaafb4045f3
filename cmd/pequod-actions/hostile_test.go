package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hostile"
	"github.com/pequod-io/pequod/test/process"
)

// TestHostileConnections holds that what connects to the ports of pequod-actions can't stop it,
// also if it knows the path of a Receiver that trusts whoever does.
func TestHostileConnections(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(t, hookRights+"---"+orders)
	address := process.FreeAddress(t)
	p := e.run(t, "--receiver-kinds=Order.shop.example.com", "--receiver-addr="+address)
	p.Ready(t)
	e.receiver(t, "signed", "\n  source: {webhook: {type: github, secretRef: {name: hook}}}"+applyOrder)
	e.receiver(t, "open", "\n  source: {webhook: {type: generic, secretRef: {name: hook}}}"+applyOrder)
	signed, open := e.receiving(t, "signed", "Receiving"), e.receiving(t, "open", "Receiving")
	works := func(name string) {
		t.Helper()
		harness.Eventually(t, patience, func(context.Context) error {
			if code := send(t, "http://"+address+signed, name, fmt.Sprintf(`{"name": %q, "size": 1}`, name), nil); code != 200 {
				return fmt.Errorf("the answer is %d", code)
			}
			return nil
		})
	}
	works("before")
	hostile.Connect(t, p.Cmd.Process.Pid,
		hostile.Port{Address: address, Paths: []string{signed, open}},
		hostile.Port{Address: p.Metrics, TLS: true, Paths: []string{"/metrics", "/stats", "/"}},
		hostile.Port{Address: p.Probes, Paths: []string{"/readyz"}},
	)
	works("after")
}
