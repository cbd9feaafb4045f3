package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/fleet"
	"github.com/pequod-io/pequod/test/process"
)

// busy returns a manager with Transforms and instances that will change.
func busy(t *testing.T, instances int) chaos.Subject {
	t.Helper()
	c, account := deployed.Install(t)
	seed := uint64(time.Now().UnixNano())
	changes := fleet.New(t, c, process.Namespace, instances, seed)
	changes.Patience = chaos.Patience
	return chaos.Subject{
		Program: deployed, Cluster: c, Account: account, Changes: changes, Seed: seed,
		// Objects that leave a graph go at once, so that the end can be checked.
		Args:   []string{"--metrics-secure=false", "--prune-grace=0"},
		Looked: func(ctx context.Context, p *process.Process) error { return looked(ctx, p, changes) },
	}
}

// looked returns an error until a manager has reconciled each Transform and instance.
func looked(ctx context.Context, p *process.Process, changes *fleet.Fleet) error {
	code, body, err := process.Get(ctx, "http://"+p.Metrics+"/metrics", "")
	if err != nil {
		return err
	}
	done := 0.0
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, `pequod_reconcile_total{controller="platforminstance"`) {
			n, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			if err != nil {
				return err
			}
			done += n
		}
	}
	if want := changes.Instances(); int(done) < want {
		return fmt.Errorf("%d: %v instances are reconciled; want %d", code, done, want)
	}
	return nil
}

// TestKilled kills the manager again and again while Transforms and instances are made, changed
// and deleted. PEQUOD_SOAK is twice as often as it is killed; otherwise that is five times.
func TestKilled(t *testing.T) {
	t.Parallel()
	busy(t, 4).Killed(t, chaos.Times(2, 5))
}

// TestLeaders changes the leader of two managers, for PEQUOD_SOAK/10 rounds, and one by default.
func TestLeaders(t *testing.T) {
	t.Parallel()
	busy(t, 4).Leaders(t, chaos.Times(10, 1))
}

// TestServerOutage takes the API server away from the manager.
func TestServerOutage(t *testing.T) {
	t.Parallel()
	busy(t, 4).Outage(t)
}

// TestFaults lets requests of the manager fail. PEQUOD_SOAK is how many changes are made; otherwise 60.
func TestFaults(t *testing.T) {
	t.Parallel()
	busy(t, 4).Faults(t, chaos.Times(1, 60))
}
