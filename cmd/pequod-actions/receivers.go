package main

import (
	"fmt"
	"net"

	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/pequod-io/pequod/actions/effect"
	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/identity"
	actionmetrics "github.com/pequod-io/pequod/actions/metrics"
	"github.com/pequod-io/pequod/actions/receiver"
)

// receivers are the values of the flags about Receivers.
type receivers struct {
	address string
	list    []string
	kinds   effect.Kinds
}

// addFlags adds the flags.
func (r *receivers) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&r.address, "receiver-addr", "0", "address of the webhooks of Receivers, such as :9292; 0 disables them")
	fs.StringSliceVar(&r.list, "receiver-kinds", nil,
		"kinds that Receivers may change, such as DatabaseCluster.infra.example.com or *.infra.example.com; default: only requests to reconcile Actions, ResourceGraphs, Transforms and the kinds of Flux")
}

// check checks the values of the flags.
func (r *receivers) check() (err error) {
	if r.address != "0" {
		if _, _, err := net.SplitHostPort(r.address); err != nil {
			return fmt.Errorf("--receiver-addr: %w", err)
		}
	}
	if r.kinds, err = effect.ParseKinds(r.list); err != nil {
		return fmt.Errorf("--receiver-kinds: %w", err)
	}
	return nil
}

// setup adds the controller of Receivers to a manager.
func (r *receivers) setup(m manager.Manager, accounts *identity.Accounts, client *egress.Client) error {
	return receiver.Setup(m, receiver.Options{
		Accounts: accounts, Kinds: r.kinds, Egress: client, Address: r.address, Metrics: actionmetrics.NewReceivers(metrics.Registry),
	})
}
