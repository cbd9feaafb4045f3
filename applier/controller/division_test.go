package controller_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/shards"
	"github.com/pequod-io/pequod/test/faults"
)

// graphNames returns the names of graphs.
func graphNames(number int) []string {
	names := make([]string, number)
	for i := range names {
		names[i] = fmt.Sprintf("graph-%d", i)
	}
	return names
}

// TestReplicasDivideGraphs starts and ends replicas. Each graph is executed by one of them, and to
// move it between them writes nothing.
func TestReplicasDivideGraphs(t *testing.T) {
	t.Parallel()
	newFleet(t).divides()
}

// TestServerSelectsGraphs does the same where the API server selects the graphs of shards: a replica
// receives no others.
func TestServerSelectsGraphs(t *testing.T) {
	t.Parallel()
	f := selectingFleet(t)
	f.divides()
	f.receivesItsShare("/apis/platform.pequod.io/v1alpha1/namespaces/{namespace}/resourcegraphs", func(r *replica) *atomic.Int64 { return &r.graphs })
}

// TestServerSelectsObjects has replicas divide graphs whose objects have no bucket yet. To divide them
// writes nothing, and all changes of the objects are noticed. When the objects were written again, a replica
// receives only those of its own graphs.
func TestServerSelectsObjects(t *testing.T) {
	t.Parallel()
	f, names := newFleet(t), graphNames(40)
	alone := *f.env
	alone.start(alone.Config)
	f.set("0", names...)
	f.reached("0", names...)
	alone.stop()
	before := f.versions(names...)
	first := f.begin(64)
	f.balanced(map[*replica]int{first: 64})
	second := f.begin(64)
	f.balanced(map[*replica]int{first: 32, second: 32})
	f.settled(names...)
	if diff := cmp.Diff(before, f.versions(names...)); diff != "" {
		t.Errorf("versions of graphs and objects (-before +after they were divided):\n%s", diff)
	}
	drifts := func(name string) {
		t.Helper()
		f.patch("v1", "ConfigMap", name, "somebody", `{"data":{"a":"drift"}}`)
		f.eventually("corrected", func(ctx ctx) bool { return f.data(ctx, name) == "0" })
	}
	for _, name := range names[:10] {
		drifts(name)
		if got, want := f.bucket(name), shards.Bucket(f.graphUID(name)); got != want {
			t.Errorf("%s has bucket %q; want %s", name, got, want)
		}
	}
	// Objects with any bucket, as if they were of a former graph.
	for i, name := range names[10:30] {
		f.patch("v1", "ConfigMap", name, "somebody", fmt.Sprintf(`{"metadata":{"labels":{"pequod.io/bucket":"%d"}}}`, i*3))
	}
	time.Sleep(2 * time.Second) // until the replicas have noticed it
	for _, name := range names[10:30] {
		drifts(name)
	}
	f.receivesItsShare("/api/v1/namespaces/{namespace}/configmaps", func(r *replica) *atomic.Int64 { return &r.maps })
}

// bucket returns the bucket of a ConfigMap.
func (f *fleet) bucket(name string) string {
	f.t.Helper()
	object, err := f.resource("v1", "ConfigMap").Get(f.background(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return object.GetLabels()[v1alpha1.LabelBucket]
}

// graphUID returns the UID of a graph.
func (f *fleet) graphUID(name string) types.UID {
	f.t.Helper()
	rg, err := f.get(f.background(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	return rg.UID
}

// TestHandOverWithSelection is TestHandOverBetweenShards where replicas don't receive the graphs of others.
func TestHandOverWithSelection(t *testing.T) {
	t.Parallel()
	f := selectingFleet(t)
	f.handsOver(f.env)
}

// TestScaleEventsWithSelection is TestScaleEvents where a watch begins again with each change of the shards.
func TestScaleEventsWithSelection(t *testing.T) {
	t.Parallel()
	selectingFleet(t).scales()
}

// receivesItsShare has two replicas divide graphs, and compares the bytes that they receive with those of
// a watch of all objects. A busy machine ends watches, whose next lists count, too, so it looks until it
// sees none.
func (f *fleet) receivesItsShare(path string, of func(*replica) *atomic.Int64) {
	f.t.Helper()
	for _, r := range f.replicas {
		r.stop()
	}
	names, changes := graphNames(40), 0
	first, second := f.begin(64), f.begin(64)
	f.balanced(map[*replica]int{first: 32, second: 32})
	f.eventually("two replicas receive at most 1.2 times the bytes of one", func(ctx) bool {
		var whole atomic.Int64
		defer f.receives(path, &whole)()
		of(first).Store(0)
		of(second).Store(0)
		changes++
		data := fmt.Sprint("share-", changes)
		f.set(data, names...)
		f.reached(data, names...)
		f.settled(names...)
		each := []int64{of(first).Load(), of(second).Load()}
		f.t.Logf("%s: bytes of replicas: %d, of all: %d", data, each, whole.Load())
		return each[0] > 0 && each[1] > 0 && each[0]+each[1] <= whole.Load()*12/10
	})
}

// receives counts the bytes of a watch of the objects at a path, until it is stopped.
func (f *fleet) receives(path string, bytes *atomic.Int64) (stop func()) {
	f.t.Helper()
	list, err := f.resource("v1", "ConfigMap").List(f.t.Context(), metav1.ListOptions{Limit: 1}) // resources share their versions
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := f.Client.CoreV1().RESTClient().Get().AbsPath(strings.ReplaceAll(path, "{namespace}", f.Namespace)).
		Param("watch", "true").Param("resourceVersion", list.GetResourceVersion()).Stream(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, &countedBody{answer, bytes}) // it is closed
	}()
	return func() {
		answer.Close()
		<-ended
	}
}

func (f *fleet) divides() {
	f.t.Helper()
	names := graphNames(12)
	first := f.begin(4)
	f.set("1", names...)
	f.reached("1", names...)
	f.balanced(map[*replica]int{first: 4})
	f.settled(names...)

	before := f.versions(names...)
	first.proxy.Reset()
	second := f.begin(4)
	f.balanced(map[*replica]int{first: 2, second: 2})
	third := f.begin(4)
	f.eventually("one shard moves to the third replica", func(ctx) bool {
		held := f.holding()
		return held[first]+held[second] == 3 && held[third] == 1
	})
	f.settled(names...)
	first.stop()
	f.balanced(map[*replica]int{second: 2, third: 2})
	f.settled(names...)
	if diff := cmp.Diff(before, f.versions(names...)); diff != "" {
		f.t.Errorf("versions of graphs and objects (-before +after they moved):\n%s", diff)
	}
	for _, r := range []*replica{first, second, third} {
		for _, w := range r.written() {
			f.t.Errorf("%s: %s %s %s", r.name, w.Verb, w.Resource, w.Name)
		}
	}

	for _, name := range names {
		f.patch("v1", "ConfigMap", name, "somebody", `{"data":{"a":"drift"}}`)
		f.eventually("corrected", func(ctx ctx) bool { return f.data(ctx, name) == "1" })
	}
	f.once(names...)

	third.kill()
	f.set("2", names...)
	f.reached("2", names...)
	f.balanced(map[*replica]int{second: 4})
	f.once(names...)
}

// TestDivisionsExclude starts replicas that divide the graphs in other ways than those that run, or
// not at all. They wait until the last of these has ended.
func TestDivisionsExclude(t *testing.T) {
	t.Parallel()
	f, names := newFleet(t), graphNames(6)
	first := f.begin(4)
	f.set("1", names...)
	f.reached("1", names...)
	second, third := f.begin(3), f.begin(3)
	sole := &notes{}
	alone := *f.env
	alone.options.Metrics = sole
	alone.manager = func(o *manager.Options) {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionNamespace, o.LeaderElectionReleaseOnCancel = true, "applier", f.Namespace, true
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = &f.duration, &f.deadline, &f.retry
	}
	waited := func(r *replica) bool {
		return r.proxy.Count(func(q faults.Request) bool { return q.Verb == "get" && q.Name == "applier" }) >= 3
	}
	f.eventually("they want the lease", func(ctx) bool { return waited(second) && waited(third) })
	f.set("2", names...)
	f.reached("2", names...)
	f.balanced(map[*replica]int{first: 4})
	first.stop()
	f.eventually("they take over", func(ctx) bool {
		held := f.holding()
		return held[second]+held[third] == 3 && held[second] > 0 && held[third] > 0
	})
	f.set("3", names...)
	f.reached("3", names...)

	alone.start(alone.Config)
	second.kill()
	f.set("4", names...)
	f.reached("4", names...)
	f.balanced(map[*replica]int{third: 3})
	if lines := sole.all(); len(lines) > 0 {
		t.Errorf("a process without shards executes graphs beside others: %q", lines)
	}
	third.stop()
	f.once(names...)
	f.set("5", names...)
	f.reached("5", names...)
	if len(sole.all()) == 0 {
		t.Error("another process executes the graphs")
	}
	fourth := f.begin(2)
	f.eventually("it wants the lease", func(ctx) bool { return waited(fourth) })
	if held := f.holding(); len(held) > 0 {
		t.Errorf("beside a process without shards: %v", named(held))
	}
	alone.stop()
	f.set("6", names...)
	f.reached("6", names...)
	f.balanced(map[*replica]int{fourth: 2})
}

// TestHandOverBetweenShards moves an object to a graph of another replica, which lists it after it
// has left its graph.
func TestHandOverBetweenShards(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	f.handsOver(f.env)
}

// handsOver moves an object between graphs of two replicas, which are edited. Objects is the env
// of their objects.
func (f *fleet) handsOver(objects *env, edits ...func(*v1alpha1.ResourceGraphSpec)) {
	f.t.Helper()
	f.options.PruneGrace = time.Hour
	first, second := f.begin(2), f.begin(2)
	f.balanced(map[*replica]int{first: 1, second: 1})
	apply := func(name string, objects ...string) *v1alpha1.ResourceGraph {
		return f.apply(f.rendered(name, nodes(objects...), edits...))
	}
	shard := map[int]string{}
	for _, name := range graphNames(20) { // until both shards have one
		if rg := apply(name, configMap("a", name, "1"), configMap("b", name+"-b", "1")); len(shard) < 2 {
			shard[first.Of(rg.UID)] = name
		}
	}
	if len(shard) < 2 {
		f.t.Fatal("all graphs are in one shard")
	}
	from, to := shard[0], shard[1]
	f.ready(from)
	f.ready(to)
	uid := objects.uid(from + "-b")
	apply(from, configMap("a", from, "2"))
	f.ready(from)
	objects.eventually("the object leaves its graph", func(ctx ctx) bool { return objects.data(ctx, from) == "2" })
	apply(to, configMap("a", to, "1"), configMap("b", to+"-b", "1"), configMap("c", from+"-b", "1"))
	f.until(to, func(rg *v1alpha1.ResourceGraph) error {
		if got := owned(rg); strings.Count(got, ",") != 2 || !strings.Contains(got, "ConfigMap "+from+"-b") {
			return fmt.Errorf("inventory: %s", got)
		}
		return isReady(rg)
	})
	f.until(from, lists("ConfigMap "+from, isReady))
	if now := objects.uid(from + "-b"); now != uid {
		f.t.Error("the object was deleted and created again")
	}
}

// TestScaleEvents starts and ends replicas at random, by a signal, a crash, and by losing their
// leases, and changes the number of shards, while graphs change. Each graph is executed by never
// more than one replica, and in the end by one. There are PEQUOD_SOAK events, 10 by default.
func TestScaleEvents(t *testing.T) {
	t.Parallel()
	newFleet(t).scales()
}

func (f *fleet) scales() {
	t := f.t.(*testing.T)
	names := graphNames(12)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f.duration, f.deadline, f.retry = 6*time.Second, 3*time.Second, 500*time.Millisecond
	count, live := 4, []*replica{}
	begin := func() { live = append(live, f.begin(count)) }
	pick := func() *replica {
		i := random.IntN(len(live))
		r := live[i]
		live = slices.Delete(live, i, i+1)
		return r
	}
	ends := []struct {
		name string
		of   func(*replica)
	}{
		{"stop", (*replica).stop}, {"kill", (*replica).kill}, {"isolate", func(r *replica) { r.isolate() }},
	}
	lost := 0
	revive := func() { // a replica that a busy machine keeps from renewing its leases ends
		running := len(live)
		live = slices.DeleteFunc(live, (*replica).hasEnded)
		if lost += running - len(live); len(live) == 0 {
			begin()
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			f.report()
		}
	})
	begin()
	f.set("0", names...)
	f.reached("0", names...)
	events := 10
	if n, err := strconv.Atoi(os.Getenv("PEQUOD_SOAK")); err == nil {
		events = n
	}
	counts, longest, began := map[string]int{}, map[string]time.Duration{}, time.Now()
	for event := range events {
		data := fmt.Sprintf("%d-", event)
		f.set(data+"before", names[:len(names)/2]...)
		what, start := "start", time.Now()
		switch end := ends[random.IntN(len(ends))]; {
		case random.IntN(8) == 0:
			what = "shards"
			if count++; count > 6 {
				count = 2
			}
			old := len(live)
			begin()
			for range old {
				ends[random.IntN(2)].of(live[0])
				live = live[1:]
			}
		case len(live) == 5 || len(live) > 1 && random.IntN(2) == 0:
			what = end.name
			end.of(pick())
		case len(live) == 1 && random.IntN(2) == 0:
			what = end.name + " the last one"
			end.of(pick())
			begin()
		default:
			begin()
		}
		f.set(data+"after", names...)
		for _, name := range names {
			f.eventually(name+" has "+data+"after", func(ctx ctx) bool {
				revive()
				rg, err := f.get(ctx, name)
				return err == nil && isReady(rg) == nil && f.data(ctx, name) == data+"after"
			})
		}
		counts[what]++
		longest[what] = max(longest[what], time.Since(start))
		if t.Failed() {
			t.Fatalf("event %d: %s", event, what)
		}
	}
	f.once(names...)
	for what, n := range counts {
		t.Logf("%s: %d times, all graphs changed after at most %s", what, n, longest[what].Round(time.Millisecond))
	}
	t.Logf("%s in all; a shard was taken %d times; %d replicas ended by themselves", time.Since(began).Round(time.Second), len(f.terms), lost)
}

// TestLostLeaseEndsRequests has a replica lose its leases while its requests don't end. It gives
// them up before another replica takes its graphs over.
func TestLostLeaseEndsRequests(t *testing.T) {
	t.Parallel()
	f, names := newFleet(t), graphNames(8)
	first, second := f.begin(2), f.begin(2)
	f.balanced(map[*replica]int{first: 1, second: 1})
	f.set("1", names...)
	f.reached("1", names...)
	hang := faults.Rule{Resources: []string{"configmaps"}, Verbs: []string{"apply"}, Faults: []faults.Fault{faults.Hang{}}}
	first.proxy.Inject(hang)
	f.set("2", names...)
	f.eventually("a request hangs", func(ctx) bool {
		return first.proxy.Count(func(q faults.Request) bool { return q.Resource == "configmaps" && q.Fault != "" }) > 0
	})
	first.isolate(hang)
	<-first.done
	if held := f.holding(); held[second] != 1 {
		t.Errorf("another replica has taken over before the first one has ended: %v", named(held))
	}
	if first.err == nil || !strings.Contains(first.err.Error(), "leader election lost") {
		t.Errorf("the first replica ends with: %v", first.err)
	}
	f.balanced(map[*replica]int{second: 2})
	f.reached("2", names...)
	f.once(names...)
}

// TestShardsWaitForRequests moves shards whose graphs are being executed. They are released when
// the requests have ended.
func TestShardsWaitForRequests(t *testing.T) {
	t.Parallel()
	const delay = 10 * time.Second
	f, names := newFleet(t), graphNames(8)
	first := f.begin(2)
	f.set("1", names...)
	f.reached("1", names...)
	first.proxy.Inject(faults.Rule{Resources: []string{"configmaps"}, Verbs: []string{"apply"}, Faults: []faults.Fault{faults.Delay{For: delay}}})
	f.set("2", names...)
	f.eventually("all graphs are being executed", func(ctx) bool {
		return first.proxy.Count(func(q faults.Request) bool { return q.Resource == "configmaps" && q.Fault != "" }) == len(names)
	})
	second := f.begin(2)
	f.balanced(map[*replica]int{first: 1, second: 1})
	f.reached("2", names...)
	f.once(names...)
	moved := f.terms[len(f.terms)-1] // that of the second replica
	for _, w := range first.written() {
		rg, err := f.get(t.Context(), w.Name)
		if err != nil {
			t.Fatal(err)
		}
		if w.Fault != "" && moved.has(rg.UID) && moved.from.Before(w.Time.Add(delay)) {
			t.Errorf("%s was taken at %s, but a request that lasts %s was in flight since %s", w.Name, clock(moved.from), delay, clock(w.Time))
		}
	}
}
