package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	c, account := installed.Install(t)
	quiet := *c
	quiet.Namespace = c.Unique("quiet")
	c.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+quiet.Namespace+"}}")
	c.Apply(t, watchRole)
	hostile.Account(t, &quiet)
	hostile.Prepare(t, c)

	// An administrator reads what is installed.
	deployed, err := server.ReadDeployed(t.Context(), c.Config, process.Namespace, installed.Account)
	if err != nil {
		t.Fatal(err)
	}
	limit := deployed.Memory()
	p := installed.Prepare(t, c, account)
	group, err := limitMemory(t, p.Cmd, limit)
	if err != nil {
		t.Logf("the memory of the applier is measured and not limited, because this process may create no cgroup: %v", err)
	}
	p.Run(t)
	p.Ready(t)
	alone := measure(t, &quiet, "alone", tries)
	for _, rg := range hostile.Graphs(c.Namespace) {
		hostile.Apply(t, c, rg)
	}
	hostile.Disturb(t, c)
	beside := measure(t, &quiet, "beside", tries)

	peak := peakMemory(t, p.Cmd.Process.Pid)
	t.Logf("%d graphs, each of one object, are ready after %v (half of them) and %v (99 %%); beside a hostile tenant after %v and %v; peak memory %d MiB",
		tries, percentile(alone, 50), percentile(alone, 99), percentile(beside, 50), percentile(beside, 99), peak>>20)
	select {
	case <-p.Done:
		t.Fatal("the applier has ended")
	default:
	}
	if group != nil {
		if n := group.killed(t); n > 0 {
			t.Errorf("the applier was killed %d times for lack of memory", n)
		}
	} else if peak > limit {
		t.Errorf("the applier used %d bytes of memory; its Deployment has %d", peak, limit)
	}
	if most := max(2*time.Second, 4*percentile(alone, 99)); os.Getenv("PEQUOD_SOAK") != "" && percentile(beside, 99) > most {
		t.Errorf("99 %% of the graphs are ready after %v; want %v", percentile(beside, 99), most)
	}
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
