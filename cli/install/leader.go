package install

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/execute"
)

// refuseLeader refuses to go on while an applier renews the lease, though the
// installed one has ended: it would make again what is released. An applier that
// ended without a word holds the lease until that runs out, by this machine's clock.
func (r *remover) refuseLeader(ctx context.Context, p *removal) error {
	var lease *unstructured.Unstructured
	for _, obj := range p.objects {
		if obj.GetKind() == "Lease" {
			lease = obj
		}
	}
	if lease == nil || r.dryRun != "none" {
		return nil
	}
	var first *leader
	for since := time.Now(); ; {
		live, err := r.get(ctx, lease)
		if err != nil {
			return err
		}
		now := leaderOf(live)
		switch {
		case now.holder == "":
			return nil
		case first == nil:
			first = &now
		case now != *first:
			fmt.Fprintf(r.err, "an applier still runs: %s renews the lease %s/%s\n", now.holder, installNamespace, installName)
			return command.ExitError{Code: command.ExitNo}
		case time.Since(since) > now.lasts:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(execute.DeletionPoll / 5):
		}
	}
}

// leader is what a lease says: who holds it, when it was renewed last, and for how
// long it is good without that.
type leader struct {
	holder, renewed string
	lasts           time.Duration
}

// leaderOf reads a lease, nil for none.
func leaderOf(lease *unstructured.Unstructured) leader {
	if lease == nil {
		return leader{}
	}
	holder, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
	renewed, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	seconds, _, _ := unstructured.NestedInt64(lease.Object, "spec", "leaseDurationSeconds")
	return leader{holder, renewed, time.Duration(seconds) * time.Second}
}
