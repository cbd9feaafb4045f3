package controller_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/applier/shards"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// fleet are replicas that divide the graphs of an env. It notes when which replica executes which
// shards.
type fleet struct {
	*env
	// The times of leases, as in [shards.Options]. They are long enough for a busy machine.
	duration, deadline, retry time.Duration

	mu       sync.Mutex
	replicas []*replica
	terms    []term
}

// term is the time in which a replica executes a shard.
type term struct {
	by           *replica
	count, shard int
	from, to     time.Time // to is zero while it lasts
}

func (s term) has(uid types.UID) bool { return shards.Of(uid, s.count) == s.shard }

// replica is an applier with its own way to the API server. It is the Shards of its controller.
type replica struct {
	*shards.Replica
	of     *fleet
	name   string
	proxy  *faults.Proxy
	notes  notes
	graphs atomic.Int64 // bytes of the watches of graphs
	maps   atomic.Int64 // bytes of the watches of ConfigMaps
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	err    error         // with which it has ended
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	return fleetIn(t, harness.Start(t))
}

// selectingFleet returns a fleet in a cluster whose API server selects the graphs of shards.
func selectingFleet(t *testing.T) *fleet {
	t.Helper()
	harness.Start(t).Requires(t, "1.36")
	return fleetIn(t, harness.StartGated(t, "ShardedListAndWatch=true"))
}

func fleetIn(t *testing.T, c *harness.Cluster) *fleet {
	t.Helper()
	return &fleet{env: idle(t, c), duration: 20 * time.Second, deadline: 10 * time.Second, retry: time.Second}
}

// begin starts a replica that divides the graphs into a number of shards.
func (f *fleet) begin(count int) *replica {
	f.t.Helper()
	t := f.t.(*testing.T)
	r := &replica{of: f, name: fmt.Sprintf("r%d/%d", len(f.replicas), count), proxy: f.Proxy(t, 1), done: make(chan struct{})}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	config := r.proxy.Config(f.Config)
	config.Wrap(r.count)
	m, err := manager.New(config, manager.Options{Scheme: scheme, Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Replica, err = shards.New(m.GetConfig(), shards.Options{
		Count: count, Lease: "applier", Namespace: f.Namespace, Labels: map[string]string{"app.kubernetes.io/name": "applier"},
		Duration: f.duration, Deadline: f.deadline, Retry: f.retry, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	options := f.options
	options.Shards, options.Metrics = r, &r.notes
	if err := controller.Setup(m, options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		defer close(r.done)
		r.err = program.Start(ctx, m)
	}()
	t.Cleanup(func() { r.stop() })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas = append(f.replicas, r)
	return r
}

// count counts the bytes that a replica receives of watches of graphs and of ConfigMaps.
func (r *replica) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(q *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(q)
		switch {
		case err != nil || q.Method != http.MethodGet || !q.URL.Query().Has("watch"):
		case strings.HasSuffix(q.URL.Path, "/resourcegraphs"):
			answer.Body = &countedBody{answer.Body, &r.graphs}
		case strings.HasSuffix(q.URL.Path, "/configmaps"):
			answer.Body = &countedBody{answer.Body, &r.maps}
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// countedBody is a body that counts what is read of it.
type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

// Read implements [io.Reader].
func (c *countedBody) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.bytes.Add(int64(n))
	return n, err
}

// stop asks a replica to end, and waits for it.
func (r *replica) stop() {
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(2 * time.Minute):
		r.of.t.Errorf("%s has not ended", r.name)
	}
}

// kill ends a replica as a crash does: from now on it can do nothing in the cluster.
func (r *replica) kill() {
	r.of.t.Helper()
	if err := r.proxy.Down(); err != nil {
		r.of.t.Fatal(err)
	}
	r.of.ended(r)
	r.cancel()
}

// isolate keeps a replica from renewing its leases, so that it has to end by itself. The rules are
// for its other requests.
func (r *replica) isolate(rules ...faults.Rule) {
	r.proxy.Inject(append(rules, faults.Rule{Resources: []string{"leases.coordination.k8s.io"}, Faults: []faults.Fault{faults.Status{Code: 500}}})...)
}

// hasEnded reports whether a replica has ended.
func (r *replica) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// report logs the replicas that run, and the latest terms.
func (f *fleet) report() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.replicas {
		if !r.hasEnded() {
			f.t.Logf("%s runs", r.name)
		}
	}
	for _, s := range f.terms[max(0, len(f.terms)-20):] {
		f.t.Logf("%s executes shard %d from %s to %s", s.by.name, s.shard, clock(s.from), clock(s.to))
	}
}

// Run implements [controller.Shards].
func (r *replica) Run(ctx context.Context, work shards.Work) error {
	defer r.of.ended(r)
	return r.Replica.Run(ctx, &noted{work, r})
}

// noted notes the terms of a replica.
type noted struct {
	shards.Work
	r *replica
}

// Take implements [shards.Work].
func (n *noted) Take(shard int) {
	f := n.r.of
	f.mu.Lock()
	f.terms = append(f.terms, term{by: n.r, count: n.r.Count, shard: shard, from: time.Now()})
	f.mu.Unlock()
	n.Work.Take(shard)
}

// Leave implements [shards.Work].
func (n *noted) Leave(ctx context.Context, shard int) {
	n.Work.Leave(ctx, shard)
	n.r.of.end(func(s *term) bool { return s.by == n.r && s.shard == shard })
}

// ended ends all terms of a replica.
func (f *fleet) ended(r *replica) { f.end(func(s *term) bool { return s.by == r }) }

func (f *fleet) end(is func(*term) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.terms {
		if s := &f.terms[i]; s.to.IsZero() && is(s) {
			s.to = time.Now()
		}
	}
}

// holding returns the number of shards that each replica executes at the moment.
func (f *fleet) holding() map[*replica]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := map[*replica]int{}
	for _, s := range f.terms {
		if s.to.IsZero() {
			held[s.by]++
		}
	}
	return held
}

// balanced waits until replicas execute these numbers of shards.
func (f *fleet) balanced(want map[*replica]int) {
	f.t.Helper()
	harness.Eventually(f.t, f.patience, func(context.Context) error {
		if held := f.holding(); !maps.Equal(held, want) {
			return fmt.Errorf("the replicas hold %v; want %v", named(held), named(want))
		}
		return nil
	})
}

func named(held map[*replica]int) []string {
	var text []string
	for r, n := range held {
		text = append(text, fmt.Sprintf("%s: %d", r.name, n))
	}
	slices.Sort(text)
	return text
}

// set changes graphs. Each graph has one ConfigMap with the graph's name.
func (f *fleet) set(data string, names ...string) {
	f.t.Helper()
	for _, name := range names {
		f.apply(f.rendered(name, nodes(configMap("a", name, data))))
	}
}

// reached waits until the changes of graphs have reached their objects and statuses.
func (f *fleet) reached(data string, names ...string) {
	f.t.Helper()
	for _, name := range names {
		f.ready(name)
		f.eventually(name+" has "+data, func(ctx ctx) bool { return f.data(ctx, name) == data })
	}
}

// once checks that never two replicas executed a graph: their terms don't overlap, and each write
// was made in the last term that had begun.
func (f *fleet) once(graphs ...string) {
	f.t.Helper()
	f.mu.Lock()
	terms, replicas := slices.Clone(f.terms), slices.Clone(f.replicas)
	f.mu.Unlock()
	slices.SortStableFunc(terms, func(a, b term) int { return a.from.Compare(b.from) })
	for _, name := range graphs {
		rg, err := f.get(f.t.Context(), name)
		if err != nil {
			f.t.Fatal(err)
		}
		of := slices.DeleteFunc(slices.Clone(terms), func(s term) bool { return !s.has(rg.UID) })
		for i := range len(of) - 1 {
			if a, b := of[i], of[i+1]; a.to.IsZero() || a.to.After(b.from) {
				f.t.Errorf("graph %s is executed by %s from %s to %s, and by %s from %s", name, a.by.name, clock(a.from), clock(a.to), b.by.name, clock(b.from))
			}
		}
		for _, r := range replicas {
			for _, w := range r.proxy.Requests() {
				if !w.Write() || w.Name != name || w.Fault != "" {
					continue
				}
				i := len(of) - 1
				for i >= 0 && of[i].from.After(w.Time) {
					i--
				}
				if i < 0 || of[i].by != r {
					f.t.Errorf("%s: %s %s %s by %s, outside of its term", clock(w.Time), w.Verb, w.Resource, name, r.name)
				}
			}
		}
	}
}

func clock(at time.Time) string { return at.Format("05.000") }

// settled waits until every graph was executed to its end by the replica that has it now.
func (f *fleet) settled(graphs ...string) {
	f.t.Helper()
	for _, name := range graphs {
		rg, err := f.get(f.t.Context(), name)
		if err != nil {
			f.t.Fatal(err)
		}
		f.eventually(name+" is executed", func(ctx) bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return slices.ContainsFunc(f.terms, func(s term) bool { return s.to.IsZero() && s.has(rg.UID) && s.by.executed(name) })
		})
	}
}

// executed reports whether the graph was executed to its end since it was taken.
func (r *replica) executed(name string) bool {
	executed := false
	for _, line := range r.notes.all() {
		switch {
		case strings.HasPrefix(line, name+": Completed"):
			executed = true
		case line == name+": forgotten":
			executed = false
		}
	}
	return executed
}

// versions returns the resource versions of graphs and their objects.
func (f *fleet) versions(names ...string) map[string]string {
	f.t.Helper()
	all := map[string]string{}
	for _, name := range names {
		rg, err := f.get(f.t.Context(), name)
		if err != nil {
			f.t.Fatal(err)
		}
		cm, err := f.Client.CoreV1().ConfigMaps(f.Namespace).Get(f.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
		all[name] = rg.ResourceVersion + "/" + cm.ResourceVersion
	}
	return all
}

// written returns the writes of a replica, those of leases excluded.
func (r *replica) written() []faults.Request {
	return slices.DeleteFunc(r.proxy.Requests(), func(q faults.Request) bool {
		return !q.Write() || strings.HasPrefix(q.Resource, "leases.")
	})
}
