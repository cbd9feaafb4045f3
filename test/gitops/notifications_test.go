package gitops

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pequod-io/pequod/config"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// message is what a Provider of the type generic gets.
type message struct {
	InvolvedObject struct{ Kind, Name, Namespace string }
	Message        string
	Reason         string
	Metadata       map[string]string
}

// TestAlerts has an Alert of Flux report what happens to a graph that Flux has applied, as an event of its
// Kustomization.
func TestAlerts(t *testing.T) {
	e := start(t)
	var mu sync.Mutex
	var got []message
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Errorf("the message of an Alert: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, m)
	}))
	t.Cleanup(chat.Close)
	e.Apply(t, fmt.Sprintf(`
{apiVersion: notification.toolkit.fluxcd.io/v1beta3, kind: Provider, metadata: {name: slack, namespace: %[1]s}, spec: {type: generic, address: %[2]s}}
---
%[3]s`, runtime, chat.URL, documentedIn(t, "notifications.md", "alert.yaml", "name: apps", "name: shop")))

	program := process.Program{Name: "pequod-actions", Account: "pequod-actions", Manifests: config.Actions}
	e.Apply(t, string(program.Manifests))
	e.Apply(t, process.Component(t, "../../config/actions/components/notifications/role.yaml"))
	program.Start(t, e.Cluster, e.ServiceAccount(t, process.Namespace, program.Account),
		"--events-addr="+e.notifications, "--events-revision", "--allow-egress=127.0.0.0/8,http://127.0.0.1").Ready(t)

	r := newRepository(t)
	r.write(t, "access/account.yaml", documented(t, "access/account.yaml"))
	r.write(t, "apps/web.yaml", service("web", "ghcr.io/shop/web:1.4.0"))
	r.render(t)
	r.roles(t)
	first := r.commit(t, "A web service")
	e.Apply(t, documented(t, "clusters/flux.yaml", "https://git.example.com/shop/deploy", r.url, "interval: 10m", "interval: 10m\n  retryInterval: 5s"))
	e.synced(t, "shop", first)

	harness.Eventually(t, patience, func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		for _, m := range got {
			if m.Reason == "Completed" && strings.HasPrefix(m.Message, "ResourceGraph shop/web-") && m.InvolvedObject.Kind == "Kustomization" &&
				m.InvolvedObject.Name == "shop" && strings.Contains(fmt.Sprint(m.Metadata), first) {
				return nil
			}
		}
		return fmt.Errorf("%d messages: %+v", len(got), got)
	})
}
