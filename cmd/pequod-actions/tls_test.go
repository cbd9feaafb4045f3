package main

import (
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/test/hosts/app"
)

// TestMonitorTLS reads Pods over TLS, whose certificates have a name and no address.
func TestMonitorTLS(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	a := app.Start(t) // its address; the server has another port
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"mode": "safe"}`) }))
	listener, err := net.Listen("tcp", net.JoinHostPort(a.Address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server.Listener.Close() // it listens elsewhere
	server.Listener = listener
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	e.rights(t, readPods)
	e.pod(t, "web", a, "")
	e.watch(t)
	of := func(name, more string) {
		t.Helper()
		e.Apply(t, fmt.Sprintf(`
apiVersion: platform.pequod.io/v1alpha1
kind: Monitor
metadata: {name: %s}
spec:
  serviceAccountName: watcher
  target:
    pods: {selector: {matchLabels: {app: my-app}}, port: %s, scheme: HTTPS}
    %s
  probe: {http: {path: /mode}}
  state: response.body.mode
`, name, port, more))
	}
	trusted := fmt.Sprintf("caBundle: %q", authority)
	of("named", trusted+"\n    serverName: example.com")
	of("unnamed", trusted)
	of("untrusted", "serverName: example.com")
	e.monitored(t, "named", reason("Healthy"))
	for name, want := range map[string]string{"unnamed": "certificate", "untrusted": "unknown authority"} {
		e.monitored(t, name, func(status map[string]any) error {
			if !strings.Contains(fmt.Sprint(status["targets"]), want) {
				return fmt.Errorf("no %q: %v", want, status)
			}
			return reason("TargetUnreachable")(status)
		})
	}
}
