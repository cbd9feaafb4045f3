package controller

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/controller/graphs"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// kubeConfigSecret is the Secret with the kubeconfig of a graph, as a run has read it.
type kubeConfigSecret struct {
	ref    v1alpha1.SecretKeyReference
	digest kubeConfigDigest
	home   *cluster.Client // acts as the graph's account in the cluster of the graph

	unwatched bool      // the account may not watch the Secret
	readAt    time.Time // when to read it again, zero for not at all
}

// clusterOf returns the reference to the kubeconfig of a graph, and the zero value if its
// objects are in its own cluster.
func clusterOf(rg *v1alpha1.ResourceGraph) (ref v1alpha1.SecretKeyReference) {
	if rg.Spec.KubeConfig != nil {
		ref = rg.Spec.KubeConfig.SecretRef
	}
	return ref
}

// secretKey returns the key of the Secret in a namespace.
func secretKey(namespace string, ref v1alpha1.SecretKeyReference) inventory.Key {
	return inventory.Key{Kind: "Secret", Namespace: namespace, Name: ref.Name}
}

// kubeConfigIn returns the kubeconfig in a Secret, nil if there is none.
func kubeConfigIn(secret *unstructured.Unstructured, ref v1alpha1.SecretKeyReference) []byte {
	if secret == nil {
		return nil
	}
	keys := []string{ref.Key}
	if ref.Key == "" {
		keys = []string{"value", "value.yaml"}
	}
	for _, key := range keys {
		if text, found, _ := unstructured.NestedString(secret.Object, "data", key); found {
			data, err := base64.StdEncoding.DecodeString(text)
			if err == nil && len(data) > 0 {
				return data
			}
		}
	}
	return nil
}

// digestOfKubeConfig returns the digest of a kubeconfig.
func digestOfKubeConfig(data []byte) kubeConfigDigest {
	if data == nil {
		return kubeConfigDigest{}
	}
	return sha256.Sum256(data)
}

// findDestination finds the cluster of a graph's objects, if that isn't the cluster of the
// graph. The Secret is read as the graph's account. If the cluster can't be used, it sets
// the reason.
func (s *services) findDestination(ctx context.Context, p *prerequisites) error {
	if p.graph.Spec.KubeConfig == nil || p.client == nil {
		return nil
	}
	ref := clusterOf(p.graph)
	p.client, p.secret = nil, &kubeConfigSecret{ref: ref, home: p.home}
	if s.Operator != nil {
		p.reason, p.message = reasonKubeConfigRefused, "pequod-manager executes graphs with spec.kubeConfig as little as pequod apply does; pequod-applier does"
		return nil
	}
	secret, err := p.home.Get(ctx, secretKey(p.graph.Namespace, ref), "v1")
	if err != nil {
		if f := cluster.Classify(err); f.Reason == engine.ReasonForbidden {
			p.reason = reasonKubeConfigRefused
			p.message = fmt.Sprintf("service account %s may not get Secret %s, which spec.kubeConfig names", p.account.Name, ref.Name)
			return nil
		}
		return err
	}
	data := kubeConfigIn(secret, ref)
	p.secret.digest = digestOfKubeConfig(data)
	switch {
	case secret == nil:
		p.reason, p.message = reasonKubeConfigMissing, fmt.Sprintf("Secret %s, which spec.kubeConfig names, doesn't exist", ref.Name)
		return nil
	case data == nil && ref.Key != "":
		p.reason, p.message = reasonKubeConfigMissing, fmt.Sprintf("Secret %s, which spec.kubeConfig names, has no value of the key %s", ref.Name, ref.Key)
		return nil
	case data == nil:
		p.reason, p.message = reasonKubeConfigMissing, fmt.Sprintf("Secret %s, which spec.kubeConfig names, has no value of the keys value and value.yaml", ref.Name)
		return nil
	}
	d, err := s.destinations.get(p.graph.Namespace, ref, data)
	if err != nil {
		p.reason, p.message = reasonKubeConfigInvalid, fmt.Sprintf("the kubeconfig in Secret %s: %v", ref.Name, err)
		return nil
	}
	client, err := d.share.Client(ctx, p.account, false)
	if err != nil {
		return err
	}
	p.destination, p.client = d, client
	return nil
}

// unusable records that the cluster of the objects can't be used.
func (p *prerequisites) unusable(reason, message string) {
	p.destination, p.client = nil, nil
	p.reason, p.message = reason, message
}

// identify continues the preparation of a run in another cluster once it is known which
// one that is. Without that, a kubeconfig that leads to another cluster than before would
// leave the objects behind in the former one.
func (r *run) identify(p *prerequisites) {
	r.requests.add()
	p.destination.identify(func(uid string, err error) {
		r.requests.answer(func() {
			switch was := p.graph.Annotations[v1alpha1.AnnotationCluster]; {
			case r.ended():
			case err != nil:
				p.client, p.reason = nil, reasonClusterUnavailable
				p.message = "the cluster of Secret " + p.secret.ref.Name + " can't be identified: " + cluster.Classify(err).Message
				r.prepared(p, nil)
			case graphs.HasFinalizer(p.graph) && was != "" && was != uid:
				p.unusable(reasonClusterChanged, fmt.Sprintf(
					"the kubeconfig in Secret %s leads to another cluster (UID of kube-system %s) than the one with the graph's objects (%s)", p.secret.ref.Name, uid, was))
				r.prepared(p, nil)
			default:
				p.cluster = uid
				r.requests.start(func(ctx context.Context) func() {
					err := r.readInventory(ctx, p, r.goal.verb)
					return func() { r.complete(p, err) }
				})
			}
		})
	})
}

// refuseRecorded refuses a new graph whose objects are to be in another cluster, if pequod
// apply has recorded objects of it in this one: they would be taken for objects there.
func (p *prerequisites) refuseRecorded(ctx context.Context) error {
	if graphs.HasFinalizer(p.graph) || p.graph.Status.Inventory != nil {
		return nil
	}
	recorded, err := p.inventories.LoadOf(ctx, p.graph)
	if err == nil && recorded.Revision != "" {
		p.unusable(reasonClusterChanged, "pequod apply has applied the graph in this cluster; delete its objects with pequod delete first")
	}
	return err
}

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
	d.awaits, d.retries.resyncAt, d.retries.notBefore = noAccountEvent, time.Time{}, time.Time{}
	d.restart()
	d.wake()
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
		if secret, err := s.home.Get(ctx, key, "v1"); err == nil {
			d.post(func() { d.secretRead(secret) })
		}
	})
	return s.readAt
}

// place implements host.
func (d *driver) place() *share.Share {
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
