package receiver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/actions/source/webhook"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// webhooks serves webhooks on each replica.
type webhooks struct{ *reconciler }

// NeedLeaderElection implements manager.LeaderElectionRunnable: the Service routes to all
// replicas.
func (w *webhooks) NeedLeaderElection() bool { return false }

// shutdownTime is how long requests in flight may take to end.
const shutdownTime = 15 * time.Second

// Start implements manager.Runnable. The cache is synced when it is called.
func (w *webhooks) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", w.Address)
	if err != nil {
		return fmt.Errorf("--receiver-addr: %w", err)
	}
	server := webhook.NewServer(webhook.NewHandler(webhook.Options{
		Receivers: w.receivers, Secrets: w.Accounts, Deliver: w.deliver, Rejected: w.Metrics.Rejected, Now: w.Now,
	}))
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err = <-ended:
		return err
	case <-ctx.Done():
	}
	// ctx is done, so it can't bound the shutdown.
	last, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	if err := server.Shutdown(last); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return server.Close()
	}
	return nil
}

// receivers returns the Receivers whose status has a path.
func (w *webhooks) receivers(ctx context.Context, path string) ([]*v1alpha1.Receiver, error) {
	list := &v1alpha1.ReceiverList{}
	if err := w.client.List(ctx, list, client.MatchingFields{pathIndex: path}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var found []*v1alpha1.Receiver
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			found = append(found, &list.Items[i])
		}
	}
	return found, nil
}
