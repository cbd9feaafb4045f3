package main

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/churn"
	"github.com/pequod-io/pequod/test/harness"
)

// churned returns an applier with graphs that will change, of objects that it may watch.
func churned(t *testing.T, graphs int) chaos.Subject {
	t.Helper()
	c, account := installed.Install(t)
	seed := uint64(time.Now().UnixNano())
	changes := churn.New(t, c, graphs, seed)
	changes.Patience = chaos.Patience
	client, err := kubernetes.NewForConfig(account)
	if err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, time.Minute, func(ctx context.Context) error { // until the roles have an effect
		if _, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return err
		}
		_, err := client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
	return chaos.Subject{Program: installed, Cluster: c, Account: account, Changes: changes, Seed: seed}
}

// TestKilled kills the applier again and again while graphs are made, changed and deleted.
// PEQUOD_SOAK is twice as often as it is killed; otherwise that is five times.
func TestKilled(t *testing.T) {
	t.Parallel()
	churned(t, 12).Killed(t, chaos.Times(2, 5))
}

// TestLeaders changes the leader of two appliers, for PEQUOD_SOAK/10 rounds, and one by default.
func TestLeaders(t *testing.T) {
	t.Parallel()
	churned(t, 10).Leaders(t, chaos.Times(10, 1))
}

// TestServerOutage takes the API server away from the applier.
func TestServerOutage(t *testing.T) {
	t.Parallel()
	churned(t, 10).Outage(t)
}
