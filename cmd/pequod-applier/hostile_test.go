package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/hostile"
	"github.com/pequod-io/pequod/test/process"
	"github.com/pequod-io/pequod/test/server"
)

// TestHostileTenant runs the applier with the memory of its Deployment, and twenty
// graphs of a tenant who wants to stop it. The graphs of another namespace must
// become ready, and the applier must not end.
//
// With PEQUOD_SOAK, 99 of 100 graphs with one object must be ready within two
// seconds. The API server and the tenant use the same processors, so on a slow
// machine they may take up to four times as long as without the tenant.
func TestHostileTenant(t *testing.T) {
	tries := 5
	if os.Getenv("PEQUOD_SOAK") != "" {
		tries = 100
	}
	c, quiet, account := neighbours(t)

	p, within := runWithin(t, c, account)
	alone := measure(t, quiet, "alone", tries)
	for _, rg := range hostile.Graphs(c.Namespace) {
		hostile.Apply(t, c, rg)
	}
	hostile.Disturb(t, c)
	beside := measure(t, quiet, "beside", tries)

	t.Logf("%d graphs, each of one object, are ready after %v (half of them) and %v (99 %%); beside a hostile tenant after %v and %v; peak memory %d MiB",
		tries, percentile(alone, 50), percentile(alone, 99), percentile(beside, 50), percentile(beside, 99), peakMemory(t, p.Cmd.Process.Pid)>>20)
	within()
	if most := max(2*time.Second, 4*percentile(alone, 99)); os.Getenv("PEQUOD_SOAK") != "" && percentile(beside, 99) > most {
		t.Errorf("99 %% of the graphs are ready after %v; want %v", percentile(beside, 99), most)
	}
}

// neighbours returns a cluster with the applier installed, and the same with the namespace of another tenant.
func neighbours(t *testing.T) (hostileOne, quiet *harness.Cluster, account *rest.Config) {
	t.Helper()
	c, account := installed.Install(t)
	other := *c
	other.Namespace = c.Unique("quiet")
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+other.Namespace+"}}")
	c.Apply(t, watchRole)
	hostile.Account(t, &other)
	hostile.Prepare(t, c)
	return c, &other, account
}

// runWithin runs the applier with the memory of its Deployment. within fails the test if that wasn't enough.
func runWithin(t *testing.T, c *harness.Cluster, account *rest.Config) (p *process.Process, within func()) {
	t.Helper()
	// An administrator reads what is installed.
	deployed, err := server.ReadDeployed(t.Context(), c.Config, process.Namespace, installed.Account)
	if err != nil {
		t.Fatal(err)
	}
	limit := deployed.Memory()
	p = installed.Prepare(t, c, account)
	group, err := limitMemory(t, p.Cmd, limit)
	if err != nil {
		t.Logf("the memory of the applier is measured and not limited, because this process may create no cgroup: %v", err)
	}
	p.Run(t)
	p.Ready(t)
	return p, func() {
		t.Helper()
		select {
		case <-p.Done:
			t.Fatal("the applier has ended")
		default:
		}
		if group != nil {
			if n := group.killed(t); n > 0 {
				t.Errorf("the applier was killed %d times for lack of memory", n)
			}
		} else if peak := peakMemory(t, p.Cmd.Process.Pid); peak > limit {
			t.Errorf("the applier used %d bytes of memory; its Deployment has %d", peak, limit)
		}
	}
}

// TestHostileClusters has forty graphs of a tenant whose kubeconfigs lead to servers that answer without end: with
// text, with values that become larger when they are decoded, and slowly after much text.
func TestHostileClusters(t *testing.T) {
	c, quiet, account := neighbours(t)
	p, within := runWithin(t, c, account)
	var answers atomic.Int32
	servers := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := answers.Add(1)
		w.Header().Set("Content-Type", "application/json")
		text := bytes.Repeat([]byte(" "), 3<<18)
		if n%2 == 0 {
			text = bytes.Repeat([]byte("{},"), 1<<18)
		}
		_, err := w.Write([]byte(`{"a":[`))
		for sent := 0; err == nil && r.Context().Err() == nil; sent += len(text) {
			if n%3 == 0 && sent > 30<<20 {
				time.Sleep(time.Second)
			}
			_, err = w.Write(text)
		}
	}))
	defer servers.CloseClientConnections()
	authority := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: servers.Certificate().Raw}))
	const graphs = 40
	for i := range graphs {
		name := fmt.Sprintf("cluster-%d", i)
		c.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: %s}
stringData:
  value: |
    {apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
     users: [{name: x, user: {token: %s}}], clusters: [{name: x, cluster: {server: "%s", certificate-authority-data: %s}}]}
`, name, name, servers.URL, authority))
		rg := hostile.Small(c.Namespace, name)
		rg.Spec.KubeConfig = &v1alpha1.KubeConfigReference{SecretRef: v1alpha1.SecretKeyReference{Name: name}}
		hostile.Apply(t, c, rg)
	}
	harness.Eventually(t, 3*time.Minute, func(context.Context) error {
		if n := answers.Load(); n < 2*graphs {
			return fmt.Errorf("%d requests", n)
		}
		return nil
	})
	beside := measure(t, quiet, "beside", 5)
	t.Logf("%d requests; graphs of others are ready after %v (half of them); peak memory %d MiB", answers.Load(), percentile(beside, 50), peakMemory(t, p.Cmd.Process.Pid)>>20)
	within()
}

// measure creates graphs with one object each, one after the other, and returns how
// long each took until it was ready, in ascending order.
func measure(t *testing.T, c *harness.Cluster, prefix string, tries int) []time.Duration {
	t.Helper()
	graphs := c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(c.Namespace)
	var took []time.Duration
	for i := range tries {
		rg := hostile.Small(c.Namespace, fmt.Sprintf("%s-%d", prefix, i))
		began := time.Now()
		hostile.Apply(t, c, rg)
		harness.Eventually(t, 2*time.Minute, func(ctx context.Context) error {
			obj, err := graphs.Get(ctx, rg.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			return isReady(obj)
		})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

const watchRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: hostile-watch, labels: {pequod.io/aggregate-to-applier: "true"}}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
`

func percentile(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)-1)*percent/100].Round(time.Millisecond)
}
