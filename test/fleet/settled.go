package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Settled waits until every Transform and every instance reports that its current generation
// is ready, and deleted Transforms no longer exist. It then fails the test unless the cluster
// has exactly the kinds, rights, graphs and objects that they demand, or if work was done
// twice.
//
// After a disturbance, an instance may be ready because the manager has not seen it yet. Then
// Settled waits for the objects too. Otherwise it checks them only once: an instance that
// reports to be ready before it is must fail the test.
func (f *Fleet) Settled() {
	f.t.Helper()
	f.eventually(f.checkReports)
	if f.foreign {
		f.eventually(f.checkObjects)
		f.eventually(f.checkReports)
	}
	f.foreign = false
	if err := f.checkObjects(f.t.Context()); err != nil {
		f.t.Fatalf("all instances report that they are ready: %v", err)
	}
	// No status reports the end of these, and a graph ends after its objects.
	f.eventually(f.checkGraphs)
	if err := f.checkOrphans(f.t.Context()); err != nil {
		f.t.Fatalf("the graphs of deleted instances are gone: %v", err)
	}
	f.eventually(f.checkPlatforms)
	f.must(f.record.check())
}

// report is the part of a status that Transforms and instances share.
type report struct {
	metav1.ObjectMeta `json:"metadata"`
	Status            struct {
		Phase              string                       `json:"phase"`
		ObservedGeneration int64                        `json:"observedGeneration"`
		Conditions         []metav1.Condition           `json:"conditions"`
		ResolvedCueRef     struct{ Digest string }      `json:"resolvedCueRef"`
		Module             struct{ Digest string }      `json:"module"`
		Outputs            map[string]string            `json:"outputs"`
		ResourceGraphRef   struct{ Name string }        `json:"resourceGraphRef"`
		Nodes              struct{ Total, Ready int64 } `json:"nodes"`
		Instances          *v1alpha1.InstanceCounts     `json:"instances"`
	} `json:"status"`
}

// checkReports returns an error unless all Transforms and instances report that they are ready.
func (f *Fleet) checkReports(ctx context.Context) error {
	for _, p := range f.platforms {
		transform, err := read(ctx, f.transforms(), p.name)
		if !p.exists {
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("transform %s still exists: %w", p.name, errors.Join(err, ready(transform)))
			}
			p.leaving = false
			continue
		}
		if err == nil {
			err = ready(transform)
		}
		if err != nil {
			return fmt.Errorf("transform %s: %w", p.name, err)
		}
		if err := f.checkInstances(ctx, p, transform); err != nil {
			return err
		}
	}
	return nil
}

// checkInstances returns an error unless the instances of a platform report that they are
// ready with the module of its Transform, which counts them.
func (f *Fleet) checkInstances(ctx context.Context, p *platform, transform *report) error {
	list, err := f.instances(p).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	var want []string
	for _, i := range p.instances {
		if !i.exists {
			continue
		}
		want = append(want, i.name)
		live, err := read(ctx, f.instances(p), i.name)
		if err == nil {
			err = ready(live)
		}
		switch {
		case err != nil:
		case live.Status.Module.Digest != transform.Status.ResolvedCueRef.Digest:
			err = fmt.Errorf("ready with module %s; want %s", live.Status.Module.Digest, transform.Status.ResolvedCueRef.Digest)
		case live.Status.Outputs["value"] != fmt.Sprint(i.value), live.Status.ResourceGraphRef.Name != f.graphName(p, i),
			live.Status.Nodes.Total != int64(len(i.want(p))), live.Status.Nodes.Ready != live.Status.Nodes.Total:
			err = fmt.Errorf("ready, with the status of something else: %+v", live.Status)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", p.kind(), i.name, err)
		}
	}
	if diff := cmp.Diff(want, namesOf(list)); diff != "" {
		return fmt.Errorf("instances of %s (-want +got):\n%s", p.kind(), diff)
	}
	// The manager counts them some time after they are ready.
	counts := &v1alpha1.InstanceCounts{Total: len(want), Ready: len(want)}
	if diff := cmp.Diff(counts, transform.Status.Instances); diff != "" {
		return fmt.Errorf("transform %s counts its instances (-want +got):\n%s", p.name, diff)
	}
	return nil
}

// read reads the report of an object.
func read(ctx context.Context, objects dynamic.ResourceInterface, name string) (*report, error) {
	obj, err := objects.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	r := &report{}
	return r, json.Unmarshal(raw, r)
}

// ready returns an error unless a report is that the current generation is ready.
func ready(r *report) error {
	if r == nil {
		return nil
	}
	c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case r.Status.ObservedGeneration != r.Generation:
		return fmt.Errorf("generation %d of %d is observed", r.Status.ObservedGeneration, r.Generation)
	case c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != r.Generation || r.Status.Phase != "Ready":
		return fmt.Errorf("not ready in generation %d: %s %+v", r.Generation, r.Status.Phase, r.Status.Conditions)
	case r.DeletionTimestamp != nil:
		return errors.New("being deleted")
	}
	return nil
}

// namesOf returns the names of objects, or nil.
func namesOf(list *unstructured.UnstructuredList) []string {
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	slices.Sort(names)
	return names
}

// resource returns the client of a resource in the test's namespace.
func (f *Fleet) resource(r schema.GroupVersionResource) dynamic.ResourceInterface {
	return f.c.Dynamic.Resource(r).Namespace(f.c.Namespace)
}

// checkObjects returns an error unless the instances have exactly their objects. Those of deleted
// instances may exist until their graphs are gone.
func (f *Fleet) checkObjects(ctx context.Context) error {
	existing := map[string]bool{}
	for _, p := range f.platforms {
		for _, i := range p.instances {
			existing[i.name] = existing[i.name] || i.exists
		}
	}
	return f.compareObjects(ctx, func(instance string) bool { return existing[instance] })
}

// checkOrphans returns an error unless the namespace has exactly the objects of the instances.
func (f *Fleet) checkOrphans(ctx context.Context) error {
	return f.compareObjects(ctx, func(string) bool { return true })
}

// compareObjects compares the objects in the namespace with those of the instances. It ignores
// objects of instances that counts returns false for; their names begin with the instance's.
func (f *Fleet) compareObjects(ctx context.Context, counts func(instance string) bool) error {
	want, got := map[string]string{}, map[string]string{}
	for _, p := range f.platforms {
		for _, i := range p.instances {
			if i.exists {
				maps.Copy(want, i.want(p))
			}
		}
	}
	for _, r := range []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}, {Group: "batch", Version: "v1", Resource: "jobs"}} {
		list, err := f.resource(r).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range list.Items {
			obj := &list.Items[i]
			if instance, _, _ := strings.Cut(obj.GetName(), "-"); obj.GetName() != "kube-root-ca.crt" && counts(instance) {
				got[obj.GetKind()+" "+obj.GetName()] = describe(obj)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("objects (-want +got):\n%s", diff)
	}
	return nil
}

// checkGraphs returns an error unless there is exactly one graph for each instance, which owns
// it.
func (f *Fleet) checkGraphs(ctx context.Context) error {
	want, got := map[string]string{}, map[string]string{}
	for _, p := range f.platforms {
		for _, i := range p.instances {
			if !i.exists {
				continue
			}
			live, err := f.instances(p).Get(ctx, i.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			want[f.graphName(p, i)] = string(live.GetUID())
		}
	}
	list, err := f.resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		graph := &list.Items[i]
		text := ""
		for _, owner := range graph.GetOwnerReferences() {
			text += string(owner.UID)
		}
		if graph.GetDeletionTimestamp() != nil {
			text += ", being deleted"
		}
		got[graph.GetName()] = text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("graphs and the UIDs of their owners (-want +got):\n%s", diff)
	}
	return nil
}
