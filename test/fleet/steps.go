package fleet

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// Step makes one change of a platform that it chooses at random. A Transform that does not
// exist is created. One that exists is deleted with all its instances with a chance of 1 in
// 60, its module is changed with 1 in 20, and otherwise one of its instances is changed. A
// Transform that was deleted and still exists is left alone, so that Step has no effect.
func (f *Fleet) Step() {
	f.t.Helper()
	p := f.platforms[f.random.IntN(len(f.platforms))]
	if !p.exists {
		if p.leaving && !f.isGone(p) {
			return
		}
		p.exists, p.fields = true, 0
		f.changeModule("Transforms created", p)
		f.record.allow("CustomResourceDefinition "+p.crd(), 1)
		return
	}
	switch dice := f.random.IntN(60); {
	case dice < 1:
		f.deletePlatform(p)
	case dice < 4:
		if f.random.IntN(2) == 0 {
			p.fields++
		}
		f.changeModule("modules changed", p)
	default:
		f.stepInstance(p, p.instances[f.random.IntN(len(p.instances))])
	}
}

// stepInstance creates an instance that does not exist. One that exists is deleted with a
// chance of 2 in 10, disturbed with 1 in 10, and changed otherwise.
func (f *Fleet) stepInstance(p *platform, i *instance) {
	f.t.Helper()
	if !i.exists {
		next := instance{name: i.name, exists: true}
		f.change(&next)
		if f.put(p, &next) {
			f.counts["instances created"]++
			f.allowAll(p, &next)
			*i = next
		}
		return
	}
	switch dice := f.random.IntN(10); {
	case dice < 2:
		f.counts["instances deleted"]++
		f.must(f.instances(p).Delete(f.t.Context(), i.name, metav1.DeleteOptions{}))
		i.exists = false
	case dice < 3:
		f.disturb(p, i)
	default:
		next := *i
		f.change(&next)
		if f.put(p, &next) {
			f.counts["instances changed"]++
			if next.extra && !i.extra {
				f.record.allow("ConfigMap "+i.name+"-extra", 1)
			}
			if next.job != i.job && next.job > 0 {
				f.record.allow("Job "+next.jobName(), 1)
			}
			*i = next
		}
	}
}

// change gives an instance another content.
func (f *Fleet) change(i *instance) {
	f.value++
	i.value = f.value
	if f.random.IntN(3) == 0 {
		i.extra = !i.extra
	}
	switch f.random.IntN(4) {
	case 0:
		i.job = f.value
	case 1:
		i.job = 0
	}
}

// put applies an instance, and reports false if its kind is not served at the moment.
func (f *Fleet) put(p *platform, i *instance) bool {
	f.t.Helper()
	_, err := f.instances(p).Apply(f.t.Context(), i.name, i.object(p), metav1.ApplyOptions{FieldManager: "ci", Force: true})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return false
	}
	f.must(err)
	return true
}

// allowAll allows every object of an instance to be created once more.
func (f *Fleet) allowAll(p *platform, i *instance) {
	f.record.allow("ResourceGraph "+f.graphName(p, i), 1)
	for key := range i.want(p) {
		f.record.allow(key, 1)
	}
}

// changeModule applies a Transform whose module has another value.
func (f *Fleet) changeModule(what string, p *platform) {
	f.t.Helper()
	f.value++
	f.counts[what]++
	p.value = f.value
	object, err := p.object(f.namespace)
	f.must(err)
	_, err = f.transforms().Apply(f.t.Context(), p.name, object, metav1.ApplyOptions{FieldManager: "ci", Force: true})
	f.must(err)
}

// deletePlatform deletes a Transform and its instances, in one order or the other.
func (f *Fleet) deletePlatform(p *platform) {
	f.t.Helper()
	f.counts["Transforms deleted"]++
	remove := func() { f.must(f.transforms().Delete(f.t.Context(), p.name, metav1.DeleteOptions{})) }
	first := f.random.IntN(2) == 0
	if first {
		remove()
	}
	for _, i := range p.instances {
		if i.exists {
			f.must(f.instances(p).Delete(f.t.Context(), i.name, metav1.DeleteOptions{}))
			i.exists = false
		}
	}
	if !first {
		remove()
	}
	p.exists, p.leaving = false, true
}

// isGone reports whether a deleted Transform no longer exists, and notes it.
func (f *Fleet) isGone(p *platform) bool {
	f.t.Helper()
	_, err := f.transforms().Get(f.t.Context(), p.name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		f.must(err)
		return false
	}
	p.leaving = false
	return true
}

// disturb deletes or changes the ConfigMap of an instance, or deletes its graph, as another
// client. It is no error if they don't exist.
func (f *Fleet) disturb(p *platform, i *instance) {
	f.t.Helper()
	what, err := "ConfigMaps deleted", error(nil)
	maps := f.c.Client.CoreV1().ConfigMaps(f.c.Namespace)
	switch f.random.IntN(3) {
	case 0:
		err = maps.Delete(f.t.Context(), i.name, metav1.DeleteOptions{})
		f.record.allow("ConfigMap "+i.name, 1)
	case 1:
		what = "ConfigMaps changed"
		_, err = maps.Patch(f.t.Context(), i.name, types.MergePatchType, []byte(`{"data":{"value":"other"}}`), metav1.PatchOptions{FieldManager: "another-client"})
	default:
		what = "graphs deleted"
		// The graph and all its objects are made again.
		err = f.resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Delete(f.t.Context(), f.graphName(p, i), metav1.DeleteOptions{})
		f.allowAll(p, i)
	}
	if apierrors.IsNotFound(err) {
		return
	}
	f.must(err)
	f.counts[what]++
	f.foreign = true
}

// must fails the test if there is an error.
func (f *Fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// Drain deletes everything, waits until it no longer exists, and checks that nothing is left.
func (f *Fleet) Drain() {
	f.t.Helper()
	for _, p := range f.platforms {
		if p.exists {
			f.deletePlatform(p)
		}
	}
	f.Settled()
}

// eventually waits until check returns nil.
func (f *Fleet) eventually(check func(context.Context) error) {
	f.t.Helper()
	patience := f.Patience
	if patience == 0 {
		patience = 3 * time.Minute
	}
	harness.Eventually(f.t, patience, check)
}
