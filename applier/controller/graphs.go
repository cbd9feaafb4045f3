package controller

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller/share"
)

// head is what the controller remembers of every graph: not the graph, which
// may be large, but what tells whether it changed.
type head struct {
	uid        types.UID
	generation int64
	deleting   bool
	finalizer  bool
	halted     bool // suspended or paused
	requested  string
}

func headOf(rg *v1alpha1.ResourceGraph) head {
	h := head{
		uid: rg.UID, generation: rg.Generation, deleting: rg.DeletionTimestamp != nil,
		halted:    rg.Spec.Suspend || rg.Labels[v1alpha1.LabelPaused] == "true",
		requested: rg.Annotations[v1alpha1.AnnotationReconcileRequestedAt],
	}
	for _, f := range rg.Finalizers {
		h.finalizer = h.finalizer || f == v1alpha1.Finalizer
	}
	return h
}

func graphClient(config *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

// follow lists and watches the graphs. What is seen of a graph goes to its
// driver at once, and isn't kept here.
func (c *controller) follow(ctx context.Context) {
	source := cache.NewListWatchFromClient(c.graphs, "resourcegraphs", c.Namespace, fields.Everything())
	r := cache.NewReflectorWithOptions(source, &v1alpha1.ResourceGraph{}, news{c}, cache.ReflectorOptions{
		Name: "resourcegraphs",
		// By default it waits for up to a minute when the server was away.
		Backoff: &wait.Backoff{Duration: share.MinPause, Cap: share.MaxPause, Factor: 2, Steps: 10, Jitter: 0.5},
	})
	r.RunWithContext(ctx)
}

// news passes on what a watch of the graphs sees.
type news struct{ c *controller }

func (n news) Add(obj any) error    { return n.Update(obj) }
func (n news) Resync() error        { return nil }
func (n news) Delete(obj any) error { return n.gone(obj.(*v1alpha1.ResourceGraph)) }

func (n news) Update(obj any) error {
	n.c.changed(obj.(*v1alpha1.ResourceGraph))
	return nil
}

func (n news) gone(rg *v1alpha1.ResourceGraph) error {
	if d := n.c.find(keyOf(rg)); d != nil {
		d.vanished()
	}
	return nil
}

func (n news) Replace(list []any, _ string) error {
	there := make(map[types.NamespacedName]bool, len(list))
	for i, obj := range list {
		rg := obj.(*v1alpha1.ResourceGraph)
		there[keyOf(rg)] = true
		n.c.changed(rg)
		list[i] = nil
	}
	n.c.mu.Lock()
	var lost []*driver
	for key, d := range n.c.drivers {
		if !there[key] {
			lost = append(lost, d)
		}
	}
	n.c.mu.Unlock()
	for _, d := range lost {
		d.vanished()
	}
	n.c.listed.Store(true)
	return nil
}

func keyOf(rg *v1alpha1.ResourceGraph) types.NamespacedName {
	return types.NamespacedName{Namespace: rg.Namespace, Name: rg.Name}
}

// changed tells the driver of a graph of its newest state. One that is forgotten
// at this moment, because a graph of that name is gone, gives way to another.
func (c *controller) changed(rg *v1alpha1.ResourceGraph) {
	for !c.driver(keyOf(rg)).changed(rg) {
	}
}

// changed notes the newest state of the graph, unless the driver is forgotten.
// Only if something changed that the driver acts on, and not its own writes, it
// is stepped.
func (d *driver) changed(rg *v1alpha1.ResourceGraph) bool {
	rg.ManagedFields = nil
	d.mu.Lock()
	if d.forgotten {
		d.mu.Unlock()
		return false
	}
	h := headOf(rg)
	same := !d.gone && d.head == h
	d.head, d.gone = h, false
	if !same {
		d.latest = rg
	}
	d.mu.Unlock()
	if !same {
		d.wake()
	}
	return true
}

func (d *driver) vanished() {
	d.mu.Lock()
	d.gone, d.latest = true, nil
	d.mu.Unlock()
	d.wake()
}

// wake has the driver stepped.
func (d *driver) wake() { d.c.queue.Add(reconcile.Request{NamespacedName: d.key}) }

// post has the driver's worker do something, at its next step.
func (d *driver) post(what func()) {
	d.mu.Lock()
	d.news = append(d.news, what)
	d.mu.Unlock()
	d.wake()
}
