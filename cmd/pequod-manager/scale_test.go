package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/test/chaos"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
	"github.com/pequod-io/pequod/test/process"
)

// scaled is a running manager with a proxy of its own that counts requests.
type scaled struct {
	*harness.Cluster
	account *rest.Config
	proxy   *faults.Proxy
	*process.Process
}

// newScaled starts a manager.
func newScaled(t *testing.T) *scaled {
	t.Helper()
	c, account := deployed.Install(t)
	s := &scaled{Cluster: c, account: account, proxy: c.Proxy(t, 1)}
	s.restart(t)
	return s
}

// restart starts the manager, after the one before has ended. It doesn't wait until the manager is ready: each question
// whether it is would cost requests.
func (s *scaled) restart(t *testing.T) {
	t.Helper()
	if s.Process != nil {
		s.Process.Stop(t)
	}
	s.proxy.Reset()
	// A busy machine may keep the lease from being renewed.
	s.Process = deployed.Start(t, s.Cluster, s.proxy.Config(s.account), append(slices.Clone(withoutLease), "--metrics-secure=false")...)
}

// handled returns how many objects a controller of the manager has reconciled.
func (s *scaled) handled(t *testing.T, controller string) (done int) {
	t.Helper()
	_, body, err := process.Get(t.Context(), "http://"+s.Metrics+"/metrics", "")
	if err != nil {
		return 0 // the manager is starting
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, `pequod_reconcile_total{controller="`+controller+`"`) {
			n, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			done += int(n)
		}
	}
	return done
}

// quiet waits until the manager has no work: for five seconds, it has made no request and reconciled nothing. A scrape
// costs CPU time, so there are few.
func (s *scaled) quiet(t *testing.T) {
	t.Helper()
	work := func() int {
		return s.handled(t, "platforminstance") + s.handled(t, "resourcegraph") + s.proxy.Count(counted)
	}
	for last, now := -1, work(); now != last; last, now = now, work() {
		time.Sleep(5 * time.Second)
	}
}

// counted reports whether a request is a cost of instances. Leases are renewed, and watches opened again, whether there
// are instances or not.
func counted(r faults.Request) bool {
	return r.Verb != "watch" && !strings.HasPrefix(r.Resource, "leases.")
}

// costs are the resources used by a manager.
type costs struct {
	own, children float64 // seconds of a processor
	requests      int
	by            map[string]int // requests by verb and resource
}

// cpu returns the seconds of a processor of all processes.
func (c costs) cpu() float64 { return c.own + c.children }

// since returns the costs without the CPU time of former ones.
func (c costs) since(before costs) costs {
	c.own -= before.own
	c.children -= before.children
	return c
}

// used returns the costs since the start of the manager and, of the requests, since the last Reset.
func (s *scaled) used(t *testing.T) costs {
	t.Helper()
	stat := func(pid int) procfs.ProcStat {
		proc, err := procfs.NewProc(pid)
		if err != nil {
			return procfs.ProcStat{} // it has ended
		}
		stat, _ := proc.Stat()
		return stat
	}
	const ticks = 100 // of a second, as for all programs on Linux
	pid := s.Cmd.Process.Pid
	own := stat(pid)
	used := costs{own: own.CPUTime(), children: float64(own.CUTime+own.CSTime) / ticks, by: map[string]int{}}
	for _, child := range childrenOf(t, pid) {
		n, err := strconv.Atoi(child)
		if err != nil {
			t.Fatal(err)
		}
		used.children += stat(n).CPUTime()
	}
	for _, r := range s.proxy.Requests() {
		if counted(r) {
			used.requests++
			used.by[r.Verb+" "+r.Resource]++
		}
	}
	return used
}

// measure returns and logs the costs of work on a number of instances, until the manager has no work.
func (s *scaled) measure(t *testing.T, what string, instances int, work func()) costs {
	t.Helper()
	s.quiet(t)
	s.proxy.Reset()
	before := s.used(t)
	work()
	s.quiet(t)
	c := s.used(t).since(before)
	s.log(t, what, instances, c)
	return c
}

// log logs costs, and the memory of the manager.
func (s *scaled) log(t *testing.T, what string, instances int, c costs) {
	t.Helper()
	pid := s.Cmd.Process.Pid
	children := 0
	all := childrenOf(t, pid)
	for _, child := range all {
		children += proportional(t, child)
	}
	var by []string
	for _, key := range slices.SortedFunc(maps.Keys(c.by), func(a, b string) int { return c.by[b] - c.by[a] }) {
		by = append(by, fmt.Sprintf("%s %d", key, c.by[key]))
	}
	load, err := procfs.NewDefaultFS()
	if err != nil {
		t.Fatal(err)
	}
	average, err := load.LoadAvg()
	if err != nil {
		t.Fatal(err)
	}
	n := float64(instances)
	t.Logf("%s, %d instances: CPU %.2f ms of the manager and %.2f ms of evaluations each, %.2f requests each; memory %d MiB and %d MiB of %d processes; load %.1f; %s",
		what, instances, 1000*c.own/n, 1000*c.children/n, float64(c.requests)/n, proportional(t, strconv.Itoa(pid))>>20, children>>20, len(all), average.Load1, strings.Join(by, ", "))
}

// compare fails the test if the costs of an instance among many exceed those among few.
func compare(t *testing.T, what string, few costs, fewInstances int, many costs, manyInstances int) {
	t.Helper()
	const most = 1.3
	ratio := func(few, many float64) float64 { return many / float64(manyInstances) / (few / float64(fewInstances)) }
	requests, cpu := ratio(float64(few.requests), float64(many.requests)), ratio(few.cpu(), many.cpu())
	t.Logf("%s: an instance of %d costs %.2f times the requests and %.2f times the CPU time of one of %d", what, manyInstances, requests, cpu, fewInstances)
	if requests > most || cpu > most {
		t.Errorf("%s: more than %.1f times", what, most)
	}
}

// notes are the instances of a platform, each with four ConfigMaps, and the watch events about them.
type notes struct {
	*scaled
	kind     string
	resource schema.GroupVersionResource

	mu    sync.Mutex // guards what follows
	shown []note
}

// note is an instance as it was shown once.
type note struct {
	types.NamespacedName
	generation int64
	// version is the version of the module that the instance is ready with, or "".
	version string
}

// transform returns the Transform of the notes, with a version of the module and further fields of its spec.
func (n *notes) transform(t *testing.T, version, more string) string {
	t.Helper()
	module, err := json.Marshal(`package note
#Platform: {group: "pequod.io", kind: "` + n.kind + `"}
#Input: {text: string, n: *1 | int & >=0}
#Render: {
	input: {metadata: {name: string, namespace: string}, spec: #Input}
	output: {
		nodes: {for i in ["a", "b", "c", "d"] {(i): {
			resource: {
				apiVersion: "v1"
				kind:       "ConfigMap"
				metadata: {name: "\(input.metadata.name)-\(i)", namespace: input.metadata.namespace}
				data: text: "\(input.spec.text) \(input.spec.n) ` + version + `"
			}
			if i == "d" {dependencies: ["a"]}
		}}}
		outputs: version: "` + version + `"
	}
}`)
	if err != nil {
		t.Fatal(err)
	}
	return `{"apiVersion": "platform.pequod.io/v1alpha1", "kind": "Transform", "metadata": {"name": "` + strings.ToLower(n.kind) + `", "namespace": "` + process.Namespace + `"},
		"spec": {"cueRef": {"type": "inline", "ref": ` + string(module) + `}` + more + `}}`
}

// platform makes a platform for a kind, and follows its instances.
func (s *scaled) platform(t *testing.T, kind string) *notes {
	t.Helper()
	n := &notes{scaled: s, kind: kind, resource: schema.GroupVersionResource{Group: "pequod.io", Version: "v1alpha1", Resource: strings.ToLower(kind) + "s"}}
	s.Apply(t, n.transform(t, "v1", ""))
	hasCondition(t, s.Cluster, "platform.pequod.io/v1alpha1", "Transform", process.Namespace, strings.ToLower(kind), "Ready", "True", "")
	show := func(obj any) {
		in, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return
		}
		now := note{NamespacedName: types.NamespacedName{Namespace: in.GetNamespace(), Name: in.GetName()}, generation: in.GetGeneration()}
		observed, _, _ := unstructured.NestedInt64(in.Object, "status", "observedGeneration")
		if phase, _, _ := unstructured.NestedString(in.Object, "status", "phase"); phase == "Ready" && observed == now.generation {
			now.version, _, _ = unstructured.NestedString(in.Object, "status", "outputs", "version")
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.shown = append(n.shown, now)
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(s.Dynamic, n.resource, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: show, UpdateFunc: func(_, obj any) { show(obj) }})
	if err != nil {
		t.Fatal(err)
	}
	go informer.RunWithContext(t.Context())
	cache.WaitForCacheSync(t.Context().Done(), handler.HasSynced)
	return n
}

// create creates instances in namespaces by turns, which it creates, too.
func (n *notes) create(t *testing.T, count int, namespaces ...string) {
	t.Helper()
	for _, name := range namespaces {
		if _, err := n.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range count {
		group.Go(func() error {
			in := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": n.resource.GroupVersion().String(), "kind": n.kind,
				"metadata": map[string]any{"name": fmt.Sprint("i", i)}, "spec": map[string]any{"text": fmt.Sprint("t", i)},
			}}
			_, err := n.Dynamic.Resource(n.resource).Namespace(namespaces[i%len(namespaces)]).Create(ctx, in, metav1.CreateOptions{})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// loadPatience bounds how long a step takes on a busy machine.
const loadPatience = 40 * time.Minute

// ready waits until a number of instances is ready with a version of the module.
func (n *notes) ready(t *testing.T, count int, version string) {
	t.Helper()
	harness.Eventually(t, loadPatience, func(context.Context) error {
		select {
		case <-n.Done:
			t.Fatal("the manager has ended")
		case <-time.After(200 * time.Millisecond):
		}
		last := map[types.NamespacedName]string{}
		n.mu.Lock()
		for _, in := range n.shown {
			last[in.NamespacedName] = in.version
		}
		n.mu.Unlock()
		done := 0
		for _, v := range last {
			if v == version {
				done++
			}
		}
		if done < count {
			return fmt.Errorf("%d of %d instances of %s are ready with %s", done, count, n.kind, version)
		}
		return nil
	})
}

// named returns names of namespaces.
func (s *scaled) named(prefix string, count int) (names []string) {
	for i := range count {
		names = append(names, s.Unique(fmt.Sprint(prefix, i)))
	}
	return names
}

// unchanged restarts the manager, and returns what it costs to find that nothing has to be done for a number of instances.
func (s *scaled) unchanged(t *testing.T, instances int) costs {
	t.Helper()
	s.restart(t)
	harness.Eventually(t, loadPatience, func(context.Context) error {
		time.Sleep(5 * time.Second)
		if in, graphs := s.handled(t, "platforminstance"), s.handled(t, "resourcegraph"); in < instances || graphs < instances {
			return fmt.Errorf("%d instances and %d graphs of %d are looked at", in, graphs, instances)
		}
		return nil
	})
	s.quiet(t)
	c := s.used(t)
	s.log(t, "restart", instances, c)
	return c
}

// transformWrites is the key of the writes of the status of Transforms.
const transformWrites = "patch transforms.platform.pequod.io/status"

// TestInstanceLoad has a platform with few instances and one with many: twice PEQUOD_SOAK. It creates them, rests,
// restarts the manager, and changes the modules without and with a rollout. An instance among many costs what one among
// few does.
func TestInstanceLoad(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	s := newScaled(t)
	many := chaos.Times(1, 100) * 2
	few, instances := many/8, 0
	platforms := map[int]*notes{few: s.platform(t, "Small"), many: s.platform(t, "Large")}
	// each does the same to both platforms, and compares what it costs.
	each := func(what string, work func(n *notes, count int)) (fewCosts, manyCosts costs) {
		t.Helper()
		fewCosts = s.measure(t, what, few, func() { work(platforms[few], few) })
		manyCosts = s.measure(t, what, many, func() { work(platforms[many], many) })
		compare(t, what, fewCosts, few, manyCosts, many)
		return fewCosts, manyCosts
	}
	var created, starts []costs
	for _, count := range []int{few, many} {
		c := s.measure(t, "new", count, func() {
			n := platforms[count]
			n.create(t, count, s.named(strings.ToLower(n.kind), 16)...)
			n.ready(t, count, "v1")
		})
		created, instances = append(created, c), instances+count
		starts = append(starts, s.unchanged(t, instances))
	}
	compare(t, "new", created[0], few, created[1], many)
	t.Logf("a restarted manager looks at %.0f instances in a second of CPU time, and at %.0f without what a start with %d costs",
		float64(instances)/starts[1].cpu(), float64(many)/(starts[1].cpu()-starts[0].cpu()), few)
	// Lists have pages of 500 objects.
	if more := starts[1].requests - starts[0].requests; more > max(20, many/50) {
		t.Errorf("a restart makes %d requests more with %d instances than with %d: %v and %v", more, instances, few, starts[1].by, starts[0].by)
	}
	s.proxy.Reset()
	before := s.used(t)
	time.Sleep(30 * time.Second)
	rest := s.used(t).since(before)
	s.log(t, "30 seconds of rest", instances, rest)
	if rest.requests > 0 {
		t.Errorf("a manager at rest makes requests: %v", rest.by)
	}

	version := 1
	for _, rollout := range []string{"", `, "rollout": {"batches": [1, "10%", "100%"]}`} {
		for _, n := range platforms {
			s.Apply(t, n.transform(t, fmt.Sprint("v", version), rollout))
		}
		version++
		what := "module changes" + map[bool]string{true: " with a rollout"}[rollout != ""]
		_, costs := each(what, func(n *notes, count int) {
			s.Apply(t, n.transform(t, fmt.Sprint("v", version), rollout))
			n.ready(t, count, fmt.Sprint("v", version))
		})
		t.Logf("%s: %d writes of the status of the Transform", what, costs.by[transformWrites])
	}
}

// TestInstanceFairness changes an instance while many new ones of another namespace wait, PEQUOD_SOAK of them and then
// twice as many. It is done before all but a few of them.
func TestInstanceFairness(t *testing.T) {
	if !chaos.Soaks() {
		t.Skip("make soak runs it")
	}
	s := newScaled(t)
	n := s.platform(t, "Note")
	quiet := types.NamespacedName{Namespace: s.Unique("quiet"), Name: "i0"}
	n.create(t, 1, quiet.Namespace)
	n.ready(t, 1, "v1")
	all := 1
	for _, count := range []int{chaos.Times(1, 100), 2 * chaos.Times(1, 100)} {
		loud := s.Unique(fmt.Sprint("loud-", count))
		n.create(t, count, loud)
		all += count
		const changes = 5
		var beside []int
		for range changes {
			beside = append(beside, n.overtaken(t, quiet, loud))
		}
		n.mu.Lock()
		left := count - len(ready(n.shown, loud))
		n.mu.Unlock()
		t.Logf("%d new instances of another namespace: of these, %v became ready between a change and its end; %d were left at the end", count, beside, left)
		if left == 0 {
			t.Error("the changes were made too late")
		}
		if slices.Max(beside) > 40 {
			t.Errorf("a change waits for %d new instances of another namespace", slices.Max(beside))
		}
		n.ready(t, all, "v1")
	}
}

// ready returns the instances of a namespace that were ready once.
func ready(shown []note, namespace string) map[types.NamespacedName]bool {
	done := map[types.NamespacedName]bool{}
	for _, in := range shown {
		if in.Namespace == namespace && in.version != "" {
			done[in.NamespacedName] = true
		}
	}
	return done
}

// overtaken changes an instance, and returns how many instances of another namespace become ready before it does.
func (n *notes) overtaken(t *testing.T, key types.NamespacedName, loud string) int {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"n": %d}}`, time.Now().UnixNano()%1_000_000_000)
	changed, err := n.Dynamic.Resource(n.resource).Namespace(key.Namespace).Patch(t.Context(), key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var beside int
	harness.Eventually(t, loadPatience, func(context.Context) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		is := func(in note) bool { return in.NamespacedName == key && in.generation == changed.GetGeneration() }
		from := slices.IndexFunc(n.shown, is)
		to := slices.IndexFunc(n.shown, func(in note) bool { return is(in) && in.version != "" })
		if to < 0 {
			return fmt.Errorf("%s is not ready", key)
		}
		beside = len(ready(n.shown[:to], loud)) - len(ready(n.shown[:from], loud))
		return nil
	})
	return beside
}
