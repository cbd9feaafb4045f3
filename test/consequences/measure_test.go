package consequences

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier"
	"github.com/pequod-io/pequod/applier/cluster"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/internal/jsonvalue"
	"github.com/pequod-io/pequod/inventory/configmap"
	"github.com/pequod-io/pequod/test/harness"
)

var (
	measure = flag.Bool("measure", false, "measure all cases and write testdata/measurements.json")
	only    = flag.String("only", "", "with -measure, measure only cases whose names match this pattern")
)

// TestMeasure makes changes on a control plane. Without -measure it makes those that
// are quick, and compares them with the recorded measurements.
func TestMeasure(t *testing.T) {
	cases, err := Cases("testdata")
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(*only)
	var mu sync.Mutex
	done := Measurements{Cases: map[string]Observation{}}
	recorded, err := ReadMeasurements("testdata")
	if err != nil && !*measure {
		t.Fatal(err)
	}
	t.Run("cases", func(t *testing.T) {
		for _, test := range cases {
			if !*measure && !test.Quick || !pattern.MatchString(test.Name) {
				continue
			}
			t.Run(test.Name, func(t *testing.T) {
				t.Parallel()
				c := harness.Start(t)
				o := observe(t, c, test)
				mu.Lock()
				defer mu.Unlock()
				done.Cases[test.Name] = o
				if version, err := c.Client.Discovery().ServerVersion(); err == nil {
					done.Kubernetes = version.GitVersion
				}
			})
		}
	})
	if !*measure {
		for name, o := range done.Cases {
			// The texts of refusals differ between versions of Kubernetes.
			if done.Kubernetes != recorded.Kubernetes && o.Refused != "" && recorded.Cases[name].Refused != "" {
				o.Refused = recorded.Cases[name].Refused
			}
			if diff := cmp.Diff(recorded.Cases[name], o); diff != "" {
				t.Errorf("%s: the measurement differs from the recorded one (-recorded +measured):\n%s", name, diff)
			}
		}
		return
	}
	if t.Failed() {
		t.Fatal("nothing is recorded")
	}
	for _, test := range cases {
		if o, ok := recorded.Cases[test.Name]; ok && !pattern.MatchString(test.Name) {
			done.Cases[test.Name] = o // it was left out by -only
		}
	}
	if err := done.Write("testdata"); err != nil {
		t.Fatal(err)
	}
}

// How long to wait for effects.
const (
	// calm is how long no Pod may change.
	calm = 3 * time.Second
	// patience is how long an update may take. Some never end, such as one that
	// exceeds a quota. A namespace needs longer to end than anything else.
	patience = 45 * time.Second
)

// observe makes a change and returns what happened.
func observe(t *testing.T, c *harness.Cluster, test Case) Observation {
	t.Helper()
	s, err := test.Sides(c.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	watch, endpoints := watchPods(t, c), watchEndpoints(t, c)
	t.Cleanup(func() { deleteClusterScoped(t, c, slices.Concat(s.Before, s.After)) })
	start(t, c, watch, s, test.file.Pods)
	was, generations := stateOf(t, c, s.Before), generationsOf(t, c, s.Before)
	pods, _ := watch.running()
	watch.mark()
	endpoints.mark()
	var o Observation
	began := time.Now()
	if err := apply(t, c, s.After); err != nil {
		o.Refused = scrub(c, err.Error())
	}
	least := time.Duration(test.Seconds) * time.Second
	watch.quiet(t.Context(), calm, max(patience, least+time.Second), func(ctx context.Context) bool {
		return time.Since(began) > least && settled(ctx, c, s.After) && (o.Refused != "" || s.gone(t, c))
	})
	o.podsOf(watch, pods)
	is := stateOf(t, c, s.Before)
	o.AddressesLost = scrubAll(c, missing(was.addresses, is.addresses))
	o.DataLost = scrubAll(c, missing(was.data, is.data))
	o.ObjectsLost = scrubAll(c, slices.DeleteFunc(missing(was.objects, is.objects), s.removes))
	for name, generation := range generationsOf(t, c, s.After) {
		o.Generation = o.Generation || generations[name] > 0 && generation > generations[name]
	}
	o.EndpointsLost = slices.DeleteFunc(endpoints.lost(), func(name string) bool { return !slices.Contains(is.objects, "Service/"+name) })
	o.QuotaExceeded = quotaExceeded(t, c)
	if o.Refused == "" {
		o.Overridden = overridden(t, c, s.After)
	}
	return o
}

// start creates the objects of a case, and waits until its Pods run and its claims have
// volumes.
func start(t *testing.T, c *harness.Cluster, watch *podWatch, s Sides, want int) {
	t.Helper()
	if err := apply(t, c, s.First); err != nil {
		t.Fatalf("before the change: %v", err)
	}
	ready := func(ctx context.Context) bool {
		pods, ready := watch.running()
		return len(pods) == ready && ready >= want && settled(ctx, c, s.First)
	}
	watch.quiet(t.Context(), time.Second, 90*time.Second, ready)
	if !cmp.Equal(s.Before, s.First) {
		if err := apply(t, c, s.Before); err != nil {
			t.Fatalf("before the change: %v", err)
		}
		watch.quiet(t.Context(), calm, calm+time.Second, ready)
	}
}

// podsOf compares the Pods before the change with those of now.
func (o *Observation) podsOf(watch *podWatch, before map[types.UID]bool) {
	now, _ := watch.running()
	o.Before = len(before)
	for uid := range before {
		if !now[uid] {
			o.Ended++
		}
	}
	for uid := range now {
		if !before[uid] {
			o.Started++
		}
	}
	o.Downtime = len(before) > 0 && watch.wasDown()
}

// apply executes a graph of manifests, as pequod apply does, in their order and without the objects
// that an earlier graph had in addition. It doesn't wait until they are ready or gone: some never are.
func apply(t *testing.T, c *harness.Cluster, manifests []map[string]any) error {
	t.Helper()
	rg := &v1alpha1.ResourceGraph{ObjectMeta: metav1.ObjectMeta{Name: "case", Namespace: c.Namespace}}
	for i, m := range manifests {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		n := v1alpha1.Node{
			ID: fmt.Sprint("n", i), Resource: &runtime.RawExtension{Raw: raw},
			// A graph keeps some kinds by default.
			ApplyPolicy: &v1alpha1.ApplyPolicy{DeletionPolicy: v1alpha1.DeletionDelete},
		}
		if m["kind"] != "CustomResourceDefinition" { // the next object may be of its kind
			n.ReadyWhen = []v1alpha1.ReadyCheck{{Type: v1alpha1.ReadyExists}}
		}
		if i > 0 {
			n.Dependencies = []string{fmt.Sprint("n", i-1)}
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, n)
	}
	digest, err := fields.Digest(manifests)
	if err != nil {
		t.Fatal(err)
	}
	rg.Spec.RenderHash = "sha256:" + digest
	client, err := cluster.New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	a := &applier.Applier{Client: client, Inventories: configmap.NewStore(client.REST())}
	result, err := a.Apply(t.Context(), rg, applier.Options{Options: engine.Options{Prune: true, AllowEmpty: true}, Timeout: patience, Wait: true})
	if errors.Is(err, applier.ErrTimeout) {
		err = nil
	}
	if result != nil {
		for _, s := range result.Statuses {
			if s.Phase == v1alpha1.NodeFailed {
				return errors.New(s.Message)
			}
		}
	}
	return err
}

// removes reports whether an object is only on the old side.
func (s Sides) removes(name string) bool {
	named := func(m map[string]any) bool { return nameOf(m) == name }
	return slices.ContainsFunc(s.Before, named) && !slices.ContainsFunc(s.After, named)
}

// gone reports whether the objects that are removed don't exist any more.
func (s Sides) gone(t *testing.T, c *harness.Cluster) bool {
	for _, m := range s.Before {
		if s.removes(nameOf(m)) && read(t, c, m) != nil {
			return false
		}
	}
	return true
}

// generationsOf returns the generations of objects by name.
func generationsOf(t *testing.T, c *harness.Cluster, manifests []map[string]any) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for _, m := range manifests {
		if o := read(t, c, m); o != nil {
			found[nameOf(m)] = o.GetGeneration()
		}
	}
	return found
}

// quotaExceeded reports whether a controller was refused an object because of a quota,
// or more is used than a quota allows.
func quotaExceeded(t *testing.T, c *harness.Cluster) bool {
	t.Helper()
	events, err := c.Client.CoreV1().Events(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		if strings.Contains(e.Message, "exceeded quota") || strings.Contains(e.Message, "failed quota") {
			return true
		}
	}
	quotas, err := c.Client.CoreV1().ResourceQuotas(c.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range quotas.Items {
		for resource, hard := range q.Status.Hard {
			if used := q.Status.Used[resource]; used.Cmp(hard) > 0 {
				return true
			}
		}
	}
	return false
}

// overridden returns the workloads whose replicas are not those of their manifests.
func overridden(t *testing.T, c *harness.Cluster, manifests []map[string]any) []string {
	t.Helper()
	var found []string
	for _, m := range manifests {
		want := jsonvalue.Field(m, "spec", "replicas")
		live := read(t, c, m)
		if want == nil || live == nil {
			continue
		}
		if jsonvalue.Field(live.Object, "spec", "replicas") != want {
			found = append(found, nameOf(m)+" spec.replicas")
		}
	}
	return found
}

// deleteClusterScoped deletes the objects of a case outside its namespace.
func deleteClusterScoped(t *testing.T, c *harness.Cluster, manifests []map[string]any) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, m := range manifests {
		u := &unstructured.Unstructured{Object: m}
		if !strings.Contains(u.GetName(), c.Namespace) {
			continue
		}
		client, err := c.Resource(u.GetAPIVersion(), u.GetKind(), u.GetNamespace())
		if err != nil {
			continue
		}
		if err := client.Delete(ctx, u.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Logf("deleting %s: %v", nameOf(m), err)
		}
	}
}

// scrub replaces values that differ from run to run.
func scrub(c *harness.Cluster, message string) string {
	message = strings.ReplaceAll(message, c.Namespace, namespaceMark)
	message = regexp.MustCompile(`10\.96\.\d+\.\d+`).ReplaceAllString(message, "10.96.x.x")
	message = regexp.MustCompile(`testcluster-\S+-[0-9a-f]+`).ReplaceAllString(message, "testcluster")
	return regexp.MustCompile(`node port \d+`).ReplaceAllString(message, "node port N")
}

func scrubAll(c *harness.Cluster, all []string) []string {
	var found []string
	for _, s := range all {
		found = append(found, scrub(c, s))
	}
	slices.Sort(found)
	return slices.Compact(found)
}
