package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hosts/github"
	"github.com/pequod-io/pequod/test/process"
)

// TestBurst makes many Actions at once for a program that processes one at a time. Their workflows can't be found by a
// key, so a run that was recorded and not begun at once would wait for a person. Each runs once.
func TestBurst(t *testing.T) {
	t.Parallel()
	e, s, _ := newGitHub(t, github.Options{Prefix: "/api/v3", Mode: github.Details})
	const count = 400
	var all strings.Builder
	for i := range count {
		fmt.Fprintf(&all, `
apiVersion: platform.pequod.io/v1alpha1
kind: Action
metadata: {name: a%d}
spec:
  serviceAccountName: runner
  githubWorkflow:
    {server: '%s/api/v3', repository: acme/infra, workflow: destroy.yaml, ref: main, inputs: {size: "%d"}, auth: {tokenSecretRef: {name: github, key: token}}}
---`, i, s.URL, i)
	}
	p := e.run(t, append([]string{"--concurrent=1"}, withoutLease...)...)
	actions := e.Await(t, "platform.pequod.io/v1alpha1", "Action", "")
	e.action(t, "first", "1", "")
	e.succeeded(t, 1) // the program watches
	signal(t, p, syscall.SIGSTOP)
	e.Apply(t, strings.TrimSuffix(all.String(), "---"))
	signal(t, p, syscall.SIGCONT)
	harness.Eventually(t, patience, func(ctx context.Context) error {
		list, err := actions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		begun := 0
		for _, a := range list.Items {
			if state, _, _ := unstructured.NestedString(a.Object, "status", "run", "state"); state != "" && state != "Intended" {
				begun++
			}
			if permanent, _, _ := unstructured.NestedBool(a.Object, "status", "run", "permanent"); permanent {
				t.Fatalf("%v", a.Object["status"])
			}
		}
		if begun < count+1 {
			return fmt.Errorf("%d Actions have begun", begun)
		}
		return nil
	})
	if n := len(s.Runs()); n != count {
		t.Errorf("%d runs of %d Actions", n, count)
	}
}

// signal sends a signal to a program.
func signal(t *testing.T, p *process.Process, s os.Signal) {
	t.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// TestHangingServers has 200 Actions at servers that never answer, in another namespace. They keep those of a healthy
// tenant from nothing: all of them succeed while the first requests still hang.
func TestHangingServers(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	const hanging, servers, healthy = 200, 20, 20
	var mu sync.Mutex
	most, now := map[string]int{}, map[string]int{}
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now[r.Host]++
		most[r.Host] = max(most[r.Host], now[r.Host])
		mu.Unlock()
		<-r.Context().Done()
		mu.Lock()
		now[r.Host]--
		mu.Unlock()
	})
	var urls []string
	for range servers {
		s := httptest.NewServer(hang)
		t.Cleanup(s.Close)
		urls = append(urls, s.URL)
	}
	other := e.Unique("hostile")
	var all strings.Builder
	fmt.Fprintf(&all, "{apiVersion: v1, kind: Namespace, metadata: {name: %s}}\n", other)
	for i := range hanging {
		fmt.Fprintf(&all, "---\n{apiVersion: platform.pequod.io/v1alpha1, kind: Action, metadata: {name: h%d, namespace: %s}, spec: {serviceAccountName: runner, timeout: 24h, http: {url: %q}}}\n", i, other, urls[i%servers]+"/")
	}
	e.run(t)
	e.Apply(t, all.String())
	harness.Eventually(t, patience, func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		if len(most) < servers {
			return fmt.Errorf("%d servers hang", len(most))
		}
		return nil
	})
	for i := range healthy {
		e.action(t, fmt.Sprint("a", i), fmt.Sprint(i), "")
	}
	e.succeeded(t, healthy)
	// Those that wait say so, until they have a place.
	actions, waited := e.Await(t, "platform.pequod.io/v1alpha1", "Action", other), map[string]bool{}
	harness.Eventually(t, patience, func(ctx context.Context) error {
		list, err := actions.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, a := range list.Items {
			if strings.Contains(fmt.Sprint(a.Object["status"]), "WaitingForServer") {
				waited[a.GetName()] = true
			}
		}
		if len(waited) < servers {
			return fmt.Errorf("%d Actions wait; want %d", len(waited), servers)
		}
		return nil
	})
	mu.Lock()
	defer mu.Unlock()
	for server, n := range most {
		if n > 4 {
			t.Errorf("%s had %d requests in flight", server, n)
		}
	}
}
