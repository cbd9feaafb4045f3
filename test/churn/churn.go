// Package churn changes many ResourceGraphs at random, and holds a cluster to what
// must come of it: whatever happens to the applier and its API server meanwhile, in
// the end there is exactly what the graphs say.
//
// [New] prepares the test's namespace. [Churn.Step] makes one change: a graph is
// made, changed or deleted, or somebody else changes an object of one.
// [Churn.Settled] waits until the graphs say that they are ready, and looks whether
// that is so. [Churn.Drain] deletes them all, and looks whether anything is left.
//
// The applier isn't started here. The changes are made by the administrator's
// connection: what goes wrong on the applier's way doesn't concern them.
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

// Churn are graphs that change. It isn't safe for use by several goroutines.
type Churn struct {
	// Patience is how long Settled and Drain wait; 0 means three minutes.
	Patience time.Duration

	c      *harness.Cluster
	t      testing.TB
	random *rand.Rand
	slots  []*slot
	value  int // the last one that was given to a node
	// foreign says that others changed objects since everything was as it should be:
	// that a graph says it is ready may then be old news.
	foreign bool
	counts  map[string]int
}

// slot is a graph that there is, or was, or will be.
type slot struct {
	name    string
	graph   *graph // nil if it is to be gone
	leaving bool   // it was deleted, and wasn't seen to be gone
}

// New prepares the test's namespace for a number of graphs, none of which exists yet.
// The seed decides about the changes, as far as how fast graphs go doesn't.
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
			t.Logf("seed %d; %v", seed, u.exact(context.WithoutCancel(t.Context())))
		}
	})
	return u
}

// access is what the graphs' account may do, and what an applier may watch that
// was installed by config/applier.
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

// Step makes one change.
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

// Counts says how often what was done, for the log of a test.
func (u *Churn) Counts() map[string]int { return maps.Clone(u.counts) }

func (u *Churn) graphs() dynamic.ResourceInterface {
	return u.c.Dynamic.Resource(v1alpha1.GroupVersion.WithResource("resourcegraphs")).Namespace(u.c.Namespace)
}

func (u *Churn) put(what string, s *slot) {
	u.t.Helper()
	u.counts[what]++
	object := s.graph.object(s.name)
	if _, err := u.graphs().Apply(u.t.Context(), s.name, object, metav1.ApplyOptions{FieldManager: "ci", Force: true}); err != nil {
		u.t.Fatal(err)
	}
}

func (u *Churn) delete(s *slot) {
	u.t.Helper()
	u.counts["deleted"]++
	if err := u.graphs().Delete(u.t.Context(), s.name, metav1.DeleteOptions{}); err != nil {
		u.t.Fatal(err)
	}
	s.graph, s.leaving = nil, true
}

func (u *Churn) isGone(s *slot) bool {
	u.t.Helper()
	_, err := u.graphs().Get(u.t.Context(), s.name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		u.t.Fatal(err)
	}
	s.leaving = err == nil
	return !s.leaving
}

// meddle changes or deletes an object of a graph, if it is there by now.
func (u *Churn) meddle(s *slot) {
	u.t.Helper()
	ids := slices.Sorted(maps.Keys(s.graph.nodes))
	id := ids[u.random.IntN(len(ids))]
	objects, err := u.c.Resource(s.graph.nodes[id].apiVersion(), s.graph.nodes[id].kind, "")
	if err != nil {
		u.t.Fatal(err)
	}
	name, what := s.name+"-"+id, "deleted by others"
	if u.random.IntN(2) == 0 {
		err = objects.Delete(u.t.Context(), name, metav1.DeleteOptions{})
	} else {
		what = "changed by others"
		_, err = objects.Patch(u.t.Context(), name, "application/merge-patch+json",
			[]byte(`{"metadata":{"labels":{"value":"other"}},"data":{"value":"other"}}`),
			metav1.PatchOptions{FieldManager: "somebody"})
	}
	switch {
	case err == nil:
		u.counts[what]++
		u.foreign = true
	case !apierrors.IsNotFound(err):
		u.t.Fatal(err)
	}
}
