package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// secretWatch receives observations of the Secret of a driver. It isn't the driver itself,
// because the graph may have a Secret of that name in the other cluster.
type secretWatch struct{ d *driver }

var _ share.Graph = secretWatch{}

// Owner implements [share.Graph].
func (w secretWatch) Owner() inventory.Owner { return w.d.Owner() }

// Notify implements [share.Graph].
func (w secretWatch) Notify(o share.Observation) {
	w.d.inbox.post(func() {
		switch o.Type {
		case share.ObjectChanged:
			w.d.secretRead(o.Object)
		case share.ObjectDeleted:
			w.d.secretRead(nil)
		case share.Listed:
			if len(o.Objects) == 0 {
				w.d.secretRead(nil)
			} else {
				w.d.secretRead(&o.Objects[0])
			}
		case share.AccessChanged:
			if w.d.secret != nil {
				w.d.watchSecret(w.d.secret)
			}
		}
	})
}

// watchSecret implements host. Nil ends the watch.
func (d *driver) watchSecret(s *kubeConfigSecret) {
	was := d.secret
	if d.secret = s; s == nil {
		if was != nil {
			d.share.Unsubscribe(secretWatch{d})
		}
		return
	}
	target := engine.Target{Key: secretKey(d.key.Namespace, s.ref), Version: "v1"}
	refused, missed := d.share.Subscribe(secretWatch{d}, d.serviceAccount(), s.home, []engine.Target{target})
	s.unwatched, s.readAt = len(refused) > 0, time.Time{}
	switch {
	case len(missed) > 0: // it may have changed since it was read
		s.readAt = d.now()
	case s.unwatched:
		s.readAt = d.now().Add(d.Resync)
	}
}

// secretRead begins another run if the kubeconfig isn't that of the last one.
func (d *driver) secretRead(secret *unstructured.Unstructured) {
	if d.secret == nil {
		return
	}
	digest := digestOfKubeConfig(kubeConfigIn(secret, d.secret.ref))
	if digest == d.secret.digest {
		return
	}
	d.secret.digest = digest
	d.tryAgain()
}

// tryAgain makes another run begin at once.
func (d *driver) tryAgain() {
	d.awaits = noAccountEvent
	d.retries.happened()
	d.restart()
	d.wake()
}

// clusterKnown makes another run begin if the graph is stalled because it wasn't known which
// cluster has its objects. It may be called by any goroutine.
func (d *driver) clusterKnown() {
	d.post(func() {
		if d.awaits == clusterKnown {
			d.tryAgain()
		}
	})
}

// pollSecret reads the Secret again when its time has come. It returns when to call it
// again, zero for not at all.
func (d *driver) pollSecret(now time.Time) time.Time {
	s := d.secret
	switch {
	case s == nil:
		return time.Time{}
	case s.readAt.IsZero() || now.Before(s.readAt):
		return s.readAt
	}
	s.readAt = time.Time{}
	if s.unwatched {
		s.readAt = now.Add(d.Resync)
	}
	key := secretKey(d.key.Namespace, s.ref)
	d.share.Continue(d, func(ctx context.Context) {
		secret, err := s.home.Get(ctx, key, "v1")
		d.post(func() {
			if err == nil {
				d.secretRead(secret)
			} else if s.readAt.IsZero() {
				s.readAt = d.now().Add(d.Resync)
			}
		})
	})
	return s.readAt
}

// clusterShare implements host.
func (d *driver) clusterShare() *share.Share {
	if d.destination != nil {
		return d.destination.share
	}
	return d.share
}

// home implements host.
func (d *driver) home() *cluster.Client {
	if d.secret != nil {
		return d.secret.home
	}
	return nil
}
