package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/test/churn"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// alone are the arguments of an applier that is the only one.
var alone = []string{"--leader-elect=false", "--leader-election-namespace="}

// soak is how often make soak does what make test does a few times.
func soak(share, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv("PEQUOD_SOAK")); err == nil {
		return max(n/share, otherwise)
	}
	return otherwise
}

// churned are graphs that will change, of objects that the applier may watch by then.
func churned(t *testing.T, c *harness.Cluster, account *rest.Config, graphs int, seed uint64) *churn.Churn {
	t.Helper()
	changes := churn.New(t, c, graphs, seed)
	client, err := kubernetes.NewForConfig(account)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error { // roles take their time
		if _, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return err
		}
		_, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	return changes
}

// writes are the requests of a replica that does the leader's work.
func writes(p *faults.Proxy) []faults.Request {
	return slices.DeleteFunc(p.Requests(), func(r faults.Request) bool {
		return !r.Write() || strings.HasPrefix(r.Resource, "leases.") || strings.HasPrefix(r.Resource, "events")
	})
}

// kill ends the applier as a crash does. It must have been there until then.
func kill(t *testing.T, p *process.Process) {
	t.Helper()
	_ = p.Cmd.Process.Kill() // if it has ended, that is told now
	<-p.Done
	if status, ok := p.Cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Fatalf("the applier ended by itself: %s", p.Cmd.ProcessState)
	}
}

// TestKilled kills the applier with SIGKILL again and again while graphs are made,
// changed and deleted, which goes on until it is started again; whatever it was
// killed at, the next one makes the cluster exactly what the graphs say.
// PEQUOD_SOAK is twice as often as it is killed; otherwise that is five times.
func TestKilled(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	changes := churned(t, c, account, 12, seed)
	proxy := c.Proxy(t, seed)
	kills, midway := soak(2, 5), 0
	for range kills {
		proxy.Reset()
		p := installed.Start(t, c, proxy.Config(account), alone...)
		// What is under way when it starts takes some fifty writes.
		after := random.IntN(80)
		harness.Eventually(t, time.Minute, func(context.Context) error {
			changes.Step()
			if n := len(writes(proxy)); n < after {
				return fmt.Errorf("%d writes; want %d", n, after)
			}
			return nil
		})
		if random.IntN(3) == 0 {
			changes.Settled()
		} else {
			midway++
		}
		kill(t, p)
		for range random.IntN(5) {
			changes.Step()
		}
	}
	installed.Start(t, c, proxy.Config(account), alone...)
	changes.Settled()
	changes.Drain()
	t.Logf("%d kills, %d of them midway; graphs and objects: %v", kills, midway, changes.Counts())
}

// replica is one of several appliers, with its own way to the API server.
type replica struct {
	*process.Process
	proxy *faults.Proxy
}

// TestLeaders stops the leader of two replicas: with SIGTERM, with SIGKILL, and
// in make soak also by cutting its connection to the API server. The other
// replica must take over, never before the first one has stopped writing, and
// make the cluster match the graphs exactly. It repeats this PEQUOD_SOAK/10
// times, and once by default.
func TestLeaders(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	seed := uint64(time.Now().UnixNano())
	changes := churned(t, c, account, 10, seed)
	var all []replica
	begin := func() replica {
		proxy := c.Proxy(t, seed)
		r := replica{installed.Start(t, c, proxy.Config(account)), proxy}
		all = append(all, r)
		return r
	}
	works := func(r replica) {
		t.Helper()
		before := len(writes(r.proxy))
		harness.Eventually(t, time.Minute, func(context.Context) error {
			changes.Step()
			if len(writes(r.proxy)) < before+20 {
				return errors.New("it doesn't lead")
			}
			return nil
		})
	}
	ends := []struct {
		name string
		of   func(replica)
	}{
		{"asked", func(r replica) {
			if code := r.Stop(t); code != incluster.ExitDone {
				t.Errorf("asked to end, it ended with exit code %d", code)
			}
		}},
		{"killed", func(r replica) { kill(t, r.Process) }},
		{"cut off", func(r replica) {
			if err := r.proxy.Down(); err != nil {
				t.Fatal(err)
			}
			lost(t, r.Process)
		}},
	}
	rounds := soak(10, 1)
	if os.Getenv("PEQUOD_SOAK") == "" {
		ends = ends[:2] // TestServerOutage makes one lose its lease
	}
	leader := begin()
	works(leader)
	for range rounds {
		for _, end := range ends {
			next := begin()
			next.Ready(t)
			works(leader)
			if n := len(writes(next.proxy)); n > 0 {
				t.Fatalf("%d writes beside the leader", n)
			}
			end.of(leader)
			works(next)
			changes.Settled()
			if leader = next; t.Failed() {
				t.Fatalf("leader %s", end.name)
			}
		}
	}
	changes.Drain()
	kill(t, leader.Process)
	oneByOne(t, all)
	t.Logf("%d changes of the leader; graphs and objects: %v", rounds*len(ends), changes.Counts())
}

// lost waits until the applier has ended because it isn't the leader any more.
func lost(t *testing.T, p *process.Process) {
	t.Helper()
	select {
	case <-p.Done:
	case <-time.After(2 * time.Minute):
		t.Fatal("the applier can't renew the lease, and goes on")
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != incluster.ExitFailed || !strings.Contains(p.Log.String(), `"error":"leader election lost"`) {
		t.Errorf("when it couldn't renew the lease, it ended with exit code %d", code)
	}
}

// oneByOne holds that each of several replicas did its work when those before it
// had done theirs.
func oneByOne(t *testing.T, all []replica) {
	t.Helper()
	var last faults.Request
	for i, r := range all {
		did := writes(r.proxy)
		if len(did) == 0 {
			t.Fatalf("replica %d did nothing", i)
		}
		if first := did[0]; !first.Time.After(last.Time) {
			t.Errorf("replica %d: %s %s %s at %s; the one before it %s %s %s at %s", i,
				first.Verb, first.Resource, first.Name, first.Time, last.Verb, last.Resource, last.Name, last.Time)
		}
		last = did[len(did)-1]
	}
}

// TestServerOutage stops the API server for longer than a lease lasts, or for a
// minute if PEQUOD_SOAK is set. The applier then cannot know whether it still
// leads, and exits, as programs of controller-runtime do. The process that
// Kubernetes starts in its place is live but not ready, and completes the pending
// work when the server is back.
func TestServerOutage(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	seed := uint64(time.Now().UnixNano())
	changes := churned(t, c, account, 10, seed)
	proxy := c.Proxy(t, seed)
	p := installed.Start(t, c, proxy.Config(account))
	p.Ready(t)
	for range 30 {
		changes.Step()
	}
	if err := proxy.Down(); err != nil {
		t.Fatal(err)
	}
	away := time.Now().Add(15 * time.Second)
	if os.Getenv("PEQUOD_SOAK") != "" {
		away = time.Now().Add(time.Minute)
	}
	lost(t, p)
	p = installed.Start(t, c, proxy.Config(account))
	harness.Eventually(t, time.Minute, func(ctx context.Context) error {
		_, _, err := process.Get(ctx, "http://"+p.Probes+"/healthz", "")
		return err
	})
	for seen := 0; seen < 3 || time.Now().Before(away); seen++ {
		changes.Step()
		notReady(t, p, "api-server")
		time.Sleep(100 * time.Millisecond)
	}
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	p.Ready(t)
	changes.Settled()
	changes.Drain()
	kill(t, p)
}

// notReady holds that the applier is alive, and that a check says it isn't ready.
func notReady(t *testing.T, p *process.Process, check string) {
	t.Helper()
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusInternalServerError} {
		code, body, err := process.Get(t.Context(), "http://"+p.Probes+path, "")
		if err != nil {
			t.Fatal(err)
		}
		if code != want || want != http.StatusOK && !strings.Contains(body, "[-]"+check+" failed") {
			t.Errorf("%s: %d; want %d, and that %s failed: %s", path, code, want, check, body)
		}
	}
}
