package controller

import (
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/cluster/kubeconfig"
	"github.com/pequod-io/pequod/applier/controller/share"
	"github.com/pequod-io/pequod/inventory"
)

// kubeConfigDigest identifies a kubeconfig. It is zero if there is none.
type kubeConfigDigest [sha256.Size]byte

// destinationKey identifies a kubeconfig in a Secret.
type destinationKey struct {
	namespace string
	ref       v1alpha1.SecretKeyReference
	digest    kubeConfigDigest
}

// destination is a cluster other than that of the graphs, reached with one kubeconfig. All
// graphs with this kubeconfig share its client and its watches.
type destination struct {
	key    destinationKey
	client *cluster.Client // acts as the user of the kubeconfig
	share  *share.Share
	asked  chan struct{} // makes run find out which cluster it is; its buffer holds one

	// The lock of destinations guards these.
	users int       // graphs
	used  time.Time // when get returned it last
	close func()    // nil unless it is open; waits until it isn't served any more

	mu      sync.Mutex
	ended   bool   // it isn't served any more
	uid     string // of the cluster, empty while it is unknown
	waiting []func(uid string, err error)
	away    map[share.Graph]func() // called when it is known, after it couldn't be read
}

// destinations has the destinations in use.
type destinations struct {
	userAgent string
	home      *share.Share
	room      cluster.Room // of the answers of all clusters; a namespace owns those of its Secrets

	mu sync.Mutex
	// run runs a destination until it is closed; see [controller.runShared]. It isn't
	// called before.
	run  func(*destination) (stop func())
	open map[destinationKey]*destination
}

// closeAfter is how long a destination without graphs stays open.
const closeAfter = 2 * time.Minute

// get returns the destination of a kubeconfig. It opens it if there is none; the error
// is about the kubeconfig, and quotes nothing of it.
func (s *destinations) get(namespace string, ref v1alpha1.SecretKeyReference, data []byte) (*destination, error) {
	key := destinationKey{namespace, ref, sha256.Sum256(data)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.open[key]; d != nil {
		d.used = time.Now()
		return d, nil
	}
	config, err := kubeconfig.Parse(data)
	if err != nil {
		return nil, err
	}
	config.UserAgent = s.userAgent
	client, err := cluster.NewDistant(config, "of Secret "+ref.Name, &s.room, namespace)
	if err != nil {
		return nil, errors.New("it can't be used") // the error may quote it
	}
	d := &destination{key: key, client: client, share: s.home.Distant(client, ref.Name), asked: make(chan struct{}, 1), used: time.Now()}
	s.reopen(d)
	s.closeLater(d)
	return d, nil
}

// reopen opens a destination unless it is open. The caller holds s.mu.
func (s *destinations) reopen(d *destination) {
	if d.close == nil {
		d.setEnded(false)
		d.close = s.run(d)
		s.open[d.key] = d
	}
}

// closeLater closes a destination if no graph uses it after a while.
func (s *destinations) closeLater(d *destination) {
	time.AfterFunc(closeAfter, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case d.users > 0 || d.close == nil:
			return
		case time.Since(d.used) < closeAfter: // a run is about to retain it
			s.closeLater(d)
			return
		}
		d.close()
		d.close = nil
		if s.open[d.key] == d {
			delete(s.open, d.key)
		}
	})
}

// leavingIn returns the namespaces of graphs that objects in other clusters leave.
func (s *destinations) leavingIn() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	namespaces := map[string]bool{}
	for key, d := range s.open {
		if d.share.AnyLeaves() {
			namespaces[key.namespace] = true
		}
	}
	return namespaces
}

// reselect is [share.Share.Reselect] for all clusters.
func (s *destinations) reselect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open {
		d.share.Reselect()
	}
}

// retain notes that another graph uses a destination.
func (s *destinations) retain(d *destination) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.users++
	s.reopen(d)
}

// drop notes that a graph doesn't use a destination any more.
func (s *destinations) drop(d *destination, g share.Graph) {
	d.mu.Lock()
	delete(d.away, g)
	d.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.users--; d.users == 0 {
		s.closeLater(d)
	}
}

// kinds returns the kinds of the cluster that a Secret leads to, nil if no destination of
// it is open.
func (s *destinations) kinds(namespace string, ref v1alpha1.SecretKeyReference) *cluster.Kinds {
	if open := s.of(namespace, ref); len(open) > 0 {
		return open[0].client.Kinds()
	}
	return nil
}

// of returns the open destinations that a Secret leads to.
func (s *destinations) of(namespace string, ref v1alpha1.SecretKeyReference) []*destination {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*destination
	for key, d := range s.open {
		if key.namespace == namespace && key.ref == ref {
			found = append(found, d)
		}
	}
	return found
}

// serve keeps the watches of the destination open, and finds out which cluster it is,
// until ctx is done.
func (d *destination) serve(ctx context.Context) {
	var watches sync.WaitGroup
	watches.Go(func() { d.share.Watch(ctx) })
	defer watches.Wait()
	var again <-chan time.Time
	for pause := time.Second; ; {
		select {
		case <-ctx.Done():
			d.setEnded(true)
			d.answer("", ctx.Err())
			d.client.Close()
			return
		case <-d.asked:
		case <-again:
		}
		uid, err := d.readUID(ctx)
		if err == nil {
			again, pause = nil, time.Second
		} else {
			most := maxIdentifyPause
			if cluster.Unreachable(err) != nil {
				most = maxAwayPause
			}
			pause = min(pause, most)
			again = time.After(pause/2 + rand.N(pause))
			pause *= 2
		}
		d.answer(uid, err)
	}
}

// identify calls then with the UID of the cluster, see [v1alpha1.AnnotationCluster]. It
// doesn't wait: then is called by any goroutine, and must not block.
func (d *destination) identify(then func(uid string, err error)) {
	d.mu.Lock()
	uid, ended := d.uid, d.ended
	if uid == "" && !ended {
		d.waiting = append(d.waiting, then)
	}
	d.mu.Unlock()
	switch {
	case uid != "":
		then(uid, nil)
		return
	case ended:
		then("", context.Canceled)
		return
	}
	select {
	case d.asked <- struct{}{}:
	default: // the answer serves this one, too
	}
}

func (d *destination) setEnded(ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = ended
}

// answer tells those who wait which cluster it is.
func (d *destination) answer(uid string, err error) {
	d.mu.Lock()
	waiting := d.waiting
	d.uid, d.waiting = uid, nil
	var away map[share.Graph]func()
	if err == nil {
		away, d.away = d.away, nil
	}
	d.mu.Unlock()
	for _, then := range waiting {
		then(uid, err)
	}
	for _, then := range away {
		then()
	}
}

// whenKnown calls then for a graph when it is known which cluster it is, after identify has
// failed. As identify, it doesn't wait.
func (d *destination) whenKnown(g share.Graph, then func()) {
	d.mu.Lock()
	known := d.uid != ""
	if !known {
		if d.away == nil {
			d.away = map[share.Graph]func(){}
		}
		d.away[g] = then
	}
	d.mu.Unlock()
	if known {
		then()
	}
}

// doubt makes the next run find out again which cluster it is, because the cluster doesn't answer
// or its history was rewritten.
func (d *destination) doubt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.uid = ""
}

const (
	// identifyTimeout bounds the request for the UID of a cluster.
	identifyTimeout = 10 * time.Second
	// maxIdentifyPause is the longest pause, on average, before it is repeated, and maxAwayPause
	// that while the cluster can't be reached: then few requests are sent, see
	// [cluster.NewDistant].
	maxIdentifyPause, maxAwayPause = 20 * time.Second, 5 * time.Second
	// maxUID is the length of the longest UID of a cluster: graphs have it in an annotation.
	// Kubernetes makes UIDs of 36 characters.
	maxUID = 128
)

// readUID reads the UID of the cluster.
func (d *destination) readUID(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	system, err := d.client.Get(ctx, inventory.Key{Kind: "Namespace", Name: "kube-system"}, "v1")
	switch {
	case err != nil:
		return "", err
	case system == nil:
		return "", errors.New("it has no namespace kube-system")
	}
	uid := string(system.GetUID())
	if uid == "" || len(uid) > maxUID {
		return "", errors.New("the UID of its namespace kube-system is empty or too long")
	}
	return uid, nil
}

// newDestinations returns the destinations for the graphs of a Share.
func newDestinations(config *rest.Config, home *share.Share) *destinations {
	return &destinations{userAgent: config.UserAgent, home: home, open: map[destinationKey]*destination{}}
}

// begin makes destinations run until ctx is done.
func (s *destinations) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run = func(d *destination) func() {
		serving, cancel := context.WithCancel(ctx)
		var served sync.WaitGroup
		served.Go(func() { d.serve(serving) })
		return func() {
			cancel()
			served.Wait()
		}
	}
}
