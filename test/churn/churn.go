// Package churn changes many ResourceGraphs at random and checks the result:
// whatever happens to the applier and its API server meanwhile, the cluster must
// in the end have exactly the objects that the graphs list.
//
// [New] prepares the test's namespace. [Churn.Step] makes one change: it creates,
// changes or deletes a graph, or modifies an object of a graph as another client
// would. [Churn.Settled] waits until all graphs report that they are ready and
// checks that this is true. [Churn.Drain] deletes all graphs and checks that
// nothing is left. A test looks like this:
//
//	u := churn.New(t, cluster, 6, seed)
//	for range 100 {
//		u.Step() // and, now and then, kill the applier
//	}
//	u.Settled()
//	u.Drain()
//
// The package does not start an applier. Its changes use the administrator's
// connection, so faults that a test injects for the applier do not affect them.
//
// churn.go makes the changes, graph.go is the model of the desired graphs, and
// statuses.go and objects.go compare the model with the cluster: first the
// statuses that graphs report, then the objects that exist.
package churn

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/harness"
)

// Churn is a set of changing graphs. It is not safe for concurrent use.
type Churn struct {
	// Patience bounds how long Settled and Drain wait; 0 means three minutes.
	Patience time.Duration

	// c and t are those of the test. A change that the API server rejects fails
	// t.
	c *harness.Cluster
	t testing.TB
	// random is the only source of chance.
	random *rand.Rand
	slots  []*slot
	// value grows with every graph that is created or changed. Nodes get it as
	// their value, so that an old object cannot be mistaken for a new one.
	value int
	// foreign means that Step has modified objects of graphs since the last
	// Settled. A graph that reports to be ready may then not have seen it yet.
	foreign bool
	counts  map[string]int
}

// slot is the name of a graph that may exist now or later. Slots are reused, so a
// graph may be created again under the name of a deleted one.
type slot struct {
	name    string
	graph   *graph // nil if it should not exist
	leaving bool   // it was deleted and may still exist
}

// New prepares the test's namespace for a number of graphs, none of which exists
// yet. The seed determines the changes, except those that depend on how fast
// deleted graphs disappear.
func New(t testing.TB, c *harness.Cluster, graphs int, seed uint64) *Churn {
	t.Helper()
	role := c.Unique("churn")
	c.Apply(t, fmt.Sprintf(access, c.Namespace, role))
	t.Cleanup(func() {
		if err := c.Client.RbacV1().ClusterRoles().Delete(context.WithoutCancel(t.Context()), role, metav1.DeleteOptions{}); err != nil {
			t.Log(err)
		}
	})
	u := &Churn{c: c, t: t, random: rand.New(rand.NewPCG(seed, 0)), counts: map[string]int{}}
	for i := range graphs {
		u.slots = append(u.slots, &slot{name: fmt.Sprintf("g%d", i)})
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d; %v", seed, u.checkObjects(context.WithoutCancel(t.Context())))
		}
	})
	return u
}

// access grants the graphs' service account the rights that its objects need, and
// lets an applier that was installed from config/applier watch these kinds. Lists
// of ReplicaSets, Pods and Events serve the explanation why a Deployment is not
// ready. The arguments are the namespace and the name of the cluster role.
const access = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: pequod}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: churn}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, create, patch, delete]}
- {apiGroups: [apps], resources: [deployments], verbs: [get, list, create, patch, delete]}
- {apiGroups: [apps], resources: [replicasets], verbs: [list]}
- {apiGroups: [""], resources: [pods, events], verbs: [list]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: churn}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: churn}
subjects: [{kind: ServiceAccount, name: pequod, namespace: %[1]s}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[2]s, labels: {pequod.io/aggregate-to-applier: "true"}}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch]}
`

// Step makes one change, to a graph that it chooses at random. A graph that does
// not exist is created. One that exists is deleted with a chance of 2 in 10, one
// of its objects is deleted or modified with 2 in 10, and its content is changed
// otherwise.
//
// A graph that was deleted and still exists is left alone, so that step has no
// effect: the finalizer keeps it until its objects are gone.
func (u *Churn) Step() {
	u.t.Helper()
	s := u.slots[u.random.IntN(len(u.slots))]
	switch {
	case s.graph == nil && s.leaving && !u.isGone(s):
	case s.graph == nil:
		u.value++
		s.graph = newGraph(u.random, u.value)
		u.put("made", s)
	default:
		switch dice := u.random.IntN(10); {
		case dice < 2:
			u.delete(s)
		case dice < 4:
			u.meddle(s)
		default:
			u.value++
			s.graph.change(u.random, u.value)
			u.put("changed", s)
		}
	}
}

// Counts returns how often Step made each kind of change, for the log of a test.
func (u *Churn) Counts() map[string]int { return maps.Clone(u.counts) }

// graphs returns the client for the ResourceGraphs of the namespace.
func (u *Churn) graphs() dynamic.ResourceInterface {
	return u.c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(u.c.Namespace)
}

// put applies a graph and counts the change under the given name.
func (u *Churn) put(what string, s *slot) {
	u.t.Helper()
	u.counts[what]++
	object := s.graph.object(s.name)
	if _, err := u.graphs().Apply(u.t.Context(), s.name, object, metav1.ApplyOptions{FieldManager: "ci", Force: true}); err != nil {
		u.t.Fatal(err)
	}
}

// delete deletes a graph without waiting until it is gone.
func (u *Churn) delete(s *slot) {
	u.t.Helper()
	u.counts["deleted"]++
	if err := u.graphs().Delete(u.t.Context(), s.name, metav1.DeleteOptions{}); err != nil {
		u.t.Fatal(err)
	}
	s.graph, s.leaving = nil, true
}

// isGone reports whether a deleted graph no longer exists, and notes it in the
// slot.
func (u *Churn) isGone(s *slot) bool {
	u.t.Helper()
	_, err := u.graphs().Get(u.t.Context(), s.name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		u.t.Fatal(err)
	}
	s.leaving = err == nil
	return !s.leaving
}

// meddle deletes or modifies an object of a graph as another client, if the
// object exists. An object that does not exist is no error: the applier may not
// have created it yet.
func (u *Churn) meddle(s *slot) {
	u.t.Helper()
	ids := slices.Sorted(maps.Keys(s.graph.nodes))
	id := ids[u.random.IntN(len(ids))]
	objects, err := u.c.Resource(s.graph.nodes[id].apiVersion(), s.graph.nodes[id].kind, "")
	if err != nil {
		u.t.Fatal(err)
	}
	name, what := s.name+"-"+id, "deleted by others"
	// The patch changes the label of both kinds. For a Deployment the server
	// drops data, which is an unknown field.
	if u.random.IntN(2) == 0 {
		err = objects.Delete(u.t.Context(), name, metav1.DeleteOptions{})
	} else {
		what = "changed by others"
		_, err = objects.Patch(u.t.Context(), name, "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"value":"other"}},"data":{"value":"other"}}`),
			metav1.PatchOptions{FieldManager: "another-client"})
	}
	switch {
	case err == nil:
		u.counts[what]++
		u.foreign = true
	case !apierrors.IsNotFound(err):
		u.t.Fatal(err)
	}
}
