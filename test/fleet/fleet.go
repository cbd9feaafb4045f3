// Package fleet changes Transforms and their instances at random and checks the result:
// whatever happens to pequod-manager and its API server meanwhile, the cluster must in the end
// have exactly the kinds, rights, graphs and objects that the Transforms and instances demand.
//
// [New] prepares a fleet. [Fleet.Step] makes one change: it creates, changes or deletes a
// Transform or an instance, or disturbs an object as another client would. [Fleet.Settled]
// waits until all Transforms and instances report that they are ready, and checks that this is
// true. [Fleet.Drain] deletes everything and checks that nothing is left. Package churn is the
// same for graphs without Transforms.
//
// The package does not start a manager. Its changes use the administrator's connection, so
// faults that a test injects for the manager do not affect them. It defines kinds with fixed
// names, so each fleet needs a cluster of its own.
//
// fleet.go and steps.go make the changes, module.go is the model of the desired objects,
// record.go observes the cluster all the time to find work that is done twice, and settled.go and
// platforms.go compare the model with the cluster.
package fleet

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// Fleet is a set of changing Transforms and instances. It is not safe for concurrent use.
type Fleet struct {
	// Patience bounds how long Settled and Drain wait; 0 means three minutes.
	Patience time.Duration

	c *harness.Cluster
	t testing.TB
	// namespace is that of the Transforms. The instances are in the test's namespace.
	namespace string
	random    *rand.Rand
	platforms []*platform
	// value grows with every change. Modules, instances and Jobs get it, so that old content
	// cannot be mistaken for new.
	value int64
	// foreign means that Step has disturbed objects since the last Settled. An instance that
	// reports to be ready may then not show it yet.
	foreign bool
	counts  map[string]int
	record  *record
}

// platform is the name of a Transform that may exist now or later.
type platform struct {
	name   string
	rights string
	exists bool
	// leaving means that it was deleted and may still exist.
	leaving bool
	// value and fields are the content of its module.
	value     int64
	fields    int
	instances []*instance
}

// instance is the name of an instance that may exist now or later.
type instance struct {
	name   string
	exists bool
	value  int64
	extra  bool
	job    int64 // 0 for none
}

// kind returns the kind of the instances: "Alpha" for the Transform "alpha".
func (p *platform) kind() string { return strings.ToUpper(p.name[:1]) + p.name[1:] }

// resource returns the resource of the instances.
func (p *platform) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: p.name + "s"}
}

// crd returns the name of the generated CRD.
func (p *platform) crd() string { return p.name + "s." + group }

// jobName returns the name of the instance's Job, which no other Job ever has.
func (i *instance) jobName() string { return fmt.Sprintf("%s-%d", i.name, i.job) }

// New returns a fleet without Transforms and instances. The Transforms will be in the given
// namespace, and have the given number of instances each. The seed determines the changes,
// except those that depend on how fast deleted objects disappear.
func New(t testing.TB, c *harness.Cluster, namespace string, instances int, seed uint64) *Fleet {
	t.Helper()
	f := &Fleet{c: c, t: t, namespace: namespace, random: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}}
	for n, name := range []string{"alpha", "beta", "gamma"} {
		p := &platform{name: name, rights: rights[n]}
		for i := range instances {
			p.instances = append(p.instances, &instance{name: fmt.Sprintf("%s%d", name[:1], i)})
		}
		f.platforms = append(f.platforms, p)
	}
	f.record = observe(t, c)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d; changes: %v\n%s", seed, f.counts, f.graphs(context.WithoutCancel(t.Context())))
		}
	})
	return f
}

// Counts returns how often Step made each sort of change.
func (f *Fleet) Counts() map[string]int { return maps.Clone(f.counts) }

// Instances returns the number of instances that should exist.
func (f *Fleet) Instances() int {
	n := 0
	for _, p := range f.platforms {
		for _, i := range p.instances {
			if i.exists {
				n++
			}
		}
	}
	return n
}

// transforms returns the client of Transforms.
func (f *Fleet) transforms() dynamic.ResourceInterface {
	return f.c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("transforms")).Namespace(f.namespace)
}

// instances returns the client of a platform's instances.
func (f *Fleet) instances(p *platform) dynamic.ResourceInterface {
	return f.c.Dynamic.Resource(p.resource()).Namespace(f.c.Namespace)
}

// graphs describes the graphs that exist, for the log of a test that failed.
func (f *Fleet) graphs(ctx context.Context) string {
	list, err := f.resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	text := ""
	for i := range list.Items {
		graph := &list.Items[i]
		conditions, _, _ := unstructured.NestedSlice(graph.Object, "status", "conditions")
		text += fmt.Sprintf("graph %s, deleted %v, finalizers %v: %v\n", graph.GetName(), graph.GetDeletionTimestamp(), graph.GetFinalizers(), conditions)
	}
	return text
}

// graphName returns the name of an instance's graph.
func (f *Fleet) graphName(p *platform, i *instance) string {
	return v1alpha1.GraphName(group, p.kind(), f.c.Namespace, i.name)
}

// decode decodes a YAML object.
func decode(text string) (map[string]any, error) {
	object := map[string]any{}
	return object, yaml.Unmarshal([]byte(text), &object)
}
