package cli

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// awaitNoLeader waits until no applier renews the lease: one that runs outside the
// installation, or on a node that nobody hears of, would make again what is
// released. By this machine's clock, not that of the lease.
func (r *remover) awaitNoLeader(ctx context.Context, p *removal) error {
	var lease *unstructured.Unstructured
	for _, obj := range p.objects {
		if obj.GetKind() == "Lease" {
			lease = obj
		}
	}
	if lease == nil || r.dryRun != "none" {
		return nil
	}
	var holder, renewed string
	var since time.Time
	for {
		live, err := r.get(ctx, lease)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			now, lasts := leaderOf(live)
			if now.holder == "" {
				return nil
			}
			if now.renewed != renewed {
				holder, renewed, since = now.holder, now.renewed, time.Now()
			} else if time.Since(since) > lasts {
				return nil // it ended without a word
			}
		}
		select {
		case <-ctx.Done():
			fmt.Fprintf(r.err, "an applier still runs: %s renews the lease %s/%s\n", holder, installNamespace, installName)
			return ctx.Err()
		case <-time.After(pollGone):
		}
	}
}

// leader is what a lease says.
type leader struct{ holder, renewed string }

// leaderOf reads a lease, nil for none, and how long its holder may be silent.
func leaderOf(lease *unstructured.Unstructured) (leader, time.Duration) {
	if lease == nil {
		return leader{}, 0
	}
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
	return leader{holder, renewed}, time.Duration(seconds) * time.Second
}
