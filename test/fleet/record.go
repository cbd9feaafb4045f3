package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// record observes all objects from the start, to find work that is done twice: an object that is
// created more often than the changes allow, and content that is replaced by older content.
type record struct {
	mu sync.Mutex // guards the fields below
	// uids has the UIDs of all objects that ever existed, by kind and name. Pods have the name
	// of their Job.
	uids map[string][]types.UID
	// allowed is how many of them there may be.
	allowed map[string]int
	// newest has the highest value and module that an object had, by UID.
	newest map[types.UID][2]int64
	errs   []error
}

// observed are the resources that are recorded.
var observed = []schema.GroupVersionResource{
	v1alpha1.GroupVersion.WithResource("resourcegraphs"),
	{Version: "v1", Resource: "configmaps"},
	{Version: "v1", Resource: "pods"},
	{Group: "batch", Version: "v1", Resource: "jobs"},
	{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
}

// observe records the objects of the test's namespace, and CRDs, until the test ends.
func observe(t testing.TB, c *harness.Cluster) *record {
	t.Helper()
	r := &record{uids: map[string][]types.UID{}, allowed: map[string]int{}, newest: map[types.UID][2]int64{}}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	for _, resource := range observed {
		namespace := c.Namespace
		if resource.Group == "apiextensions.k8s.io" {
			namespace = metav1.NamespaceAll
		}
		informer := dynamicinformer.NewFilteredDynamicInformer(c.Dynamic, resource, namespace, 0, nil, nil).Informer()
		see := func(obj any) {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				r.see(u)
			}
		}
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }}); err != nil {
			t.Fatal(err)
		}
		running.Go(func() { informer.RunWithContext(ctx) })
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatal("the cluster can't be observed")
		}
	}
	return r
}

// see records a state of an object.
func (r *record) see(obj *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := obj.GetKind() + " " + obj.GetName()
	if obj.GetKind() == "Pod" {
		key = "Pod of Job " + obj.GetLabels()["batch.kubernetes.io/job-name"]
	}
	if !slices.Contains(r.uids[key], obj.GetUID()) {
		r.uids[key] = append(r.uids[key], obj.GetUID())
	}
	now, ok := contentOf(obj)
	if !ok {
		return
	}
	before := r.newest[obj.GetUID()]
	if now[0] < before[0] || now[1] < before[1] {
		r.errs = append(r.errs, fmt.Errorf("%s: value %d and module %d came after value %d and module %d", key, now[0], now[1], before[0], before[1]))
	}
	r.newest[obj.GetUID()] = [2]int64{max(now[0], before[0]), max(now[1], before[1])}
}

// contentOf returns value and module of a ConfigMap, or of the one in a graph. It returns false
// for other objects, and for ConfigMaps that another client has changed.
func contentOf(obj *unstructured.Unstructured) (content [2]int64, ok bool) {
	fields := obj.Object
	switch obj.GetKind() {
	case "ConfigMap":
	case "ResourceGraph":
		nodes, _, _ := unstructured.NestedSlice(fields, "spec", "graph", "nodes")
		for _, n := range nodes {
			if node, _ := n.(map[string]any); node["id"] == "config" {
				fields, _ = node["resource"].(map[string]any)
			}
		}
	default:
		return content, false
	}
	data, _, _ := unstructured.NestedStringMap(fields, "data")
	for i, name := range []string{"value", "module"} {
		n, err := strconv.ParseInt(data[name], 10, 64)
		if err != nil {
			return content, false
		}
		content[i] = n
	}
	return content, true
}

// allow allows n more creations of an object, and of the Pod of a Job.
func (r *record) allow(key string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.allowed[key] += n
	r.allowed["Pod of "+key] += n
}

// check returns an error if work was done twice.
func (r *record) check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := slices.Clone(r.errs)
	for key, uids := range r.uids {
		// Other objects are not of the fleet: other CRDs, kube-root-ca.crt.
		if allowed, ours := r.allowed[key]; ours && len(uids) > allowed {
			errs = append(errs, fmt.Errorf("%s was created %d times; want %d at most", key, len(uids), allowed))
		}
	}
	return errors.Join(errs...)
}
