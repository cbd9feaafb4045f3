package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// sharedWork is the Role of config/applier/components/shards.
const sharedWork = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: pequod-applier, namespace: pequod-system}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, list, create, update, delete]}]
`

// holders returns the number of shards that each process holds, and the names of all leases.
func holders(ctx context.Context, c *harness.Cluster) (held map[string]int, leases []string, err error) {
	list, err := c.Client.CoordinationV1().Leases(process.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=pequod-applier"})
	if err != nil {
		return nil, nil, err
	}
	held = map[string]int{}
	for _, lease := range list.Items {
		holder := ""
		if lease.Spec.HolderIdentity != nil {
			holder = *lease.Spec.HolderIdentity
		}
		if strings.HasPrefix(lease.Name, "pequod-applier-shard-") && holder != "" {
			held[holder]++
		}
		leases = append(leases, lease.Name+" "+holder)
	}
	return held, leases, nil
}

// divided waits until the shards are divided evenly among a number of processes.
func divided(t *testing.T, c *harness.Cluster, shards, processes int) {
	t.Helper()
	harness.Eventually(t, 3*time.Minute, func(ctx context.Context) error {
		held, leases, err := holders(ctx, c)
		if sizes := slices.Collect(maps.Values(held)); err == nil && (len(sizes) != processes || slices.Min(sizes) != shards/processes) {
			err = fmt.Errorf("%q", leases)
		}
		return err
	})
}

// TestShards runs processes that share the work. One is killed, and the other one takes its graphs
// over.
func TestShards(t *testing.T) {
	t.Parallel()
	c, account := installed.Install(t)
	c.Apply(t, sharedWork)
	first := installed.Start(t, c, account, "--shards=4", "--metrics-secure=false")
	second := installed.Start(t, c, account, "--shards=4", "--metrics-secure=false")
	first.Ready(t)
	second.Ready(t)
	divided(t, c, 4, 2)
	// With these, both shards of either process have graphs but for bad luck.
	executed := func(name string) {
		t.Helper()
		for i := range 8 {
			c.Apply(t, graphOf(fmt.Sprintf("%s-%d", name, i)))
		}
		harness.Eventually(t, 3*time.Minute, func(context.Context) error {
			var errs []error
			for i := range 8 {
				errs = append(errs, isReady(c.Get(t, "platform.pequod.io/v1alpha1", "ResourceGraph", fmt.Sprintf("%s-%d", name, i))))
			}
			return errors.Join(errs...)
		})
	}
	executed("before")
	holds := 0
	for _, p := range []*process.Process{first, second} {
		code, body, err := process.Get(t.Context(), "http://"+p.Metrics+"/metrics", "")
		if err != nil || code != 200 {
			t.Fatalf("metrics: %d, %v", code, err)
		}
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, `leader_election_master_status{name="pequod-applier-shard-`) && strings.HasSuffix(line, " 1\n") {
				holds++
			}
		}
	}
	if holds != 4 {
		t.Errorf("by their metrics, the processes execute %d shards", holds)
	}

	out := process.Pequod(t, c, 1, "uninstall", "--orphan-graphs", "--yes")
	if !strings.Contains(out, "an applier is still running: ") || !strings.Contains(out, " renews the lease pequod-system/pequod-applier") {
		t.Errorf("beside running appliers: %s", out)
	}
	chaos.Kill(t, second)
	executed("after")
	divided(t, c, 4, 1)

	if code := first.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	_, leases, err := holders(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases {
		if !strings.HasSuffix(lease, " ") { // that of the killed process was deleted when it had expired
			t.Errorf("held after the end: %s", lease)
		}
	}
}
