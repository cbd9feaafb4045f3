package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/readiness"
)

// Of many unready nodes, a few are explained at a time, and each in its turn.
func TestExplainRoundRobin(t *testing.T) {
	const nodes = 25
	rg := &v1alpha1.ResourceGraph{}
	rg.Name, rg.Namespace = "g", "ns"
	for i := range nodes {
		raw, err := json.Marshal(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": fmt.Sprintf("d%02d", i)},
		})
		if err != nil {
			t.Fatal(err)
		}
		rg.Spec.Graph.Nodes = append(rg.Spec.Graph.Nodes, v1alpha1.Node{
			ID: fmt.Sprintf("n%02d", i), Resource: &runtime.RawExtension{Raw: raw},
		})
	}
	e, err := New(rg, nil, Options{ExplainInterval: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Unix(1000, 0)
	explained := map[string]int{}
	// perSecond checks the number of explanations in each second.
	var perSecond []int
	for second := range 7 {
		now := start.Add(time.Duration(second) * time.Second)
		count := 0
		for step := e.Step(now); len(step.Actions) > 0; step = e.Step(now) {
			for _, a := range step.Actions {
				o := Outcome{}
				switch a.Verb {
				case Record:
					o.Saved = a.Inventory
				case Apply:
					object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(a.Apply.Object)}
					object.SetUID(types.UID(a.Node))
					object.SetResourceVersion("1")
					o.Object, o.Created, o.Changed = object, true, true
				case Explain:
					explained[a.Node]++
					count++
				}
				e.Done(a, o)
			}
		}
		perSecond = append(perSecond, count)
	}
	// The first explanations are requested after one second, the next ones every two
	// seconds.
	if diff := cmp.Diff([]int{0, 10, 0, 10, 0, 10, 0}, perSecond); diff != "" {
		t.Errorf("explained in each second (-want +got):\n%s", diff)
	}
	if got := len(slices.Collect(maps.Keys(explained))); got != nodes {
		t.Errorf("%d nodes were explained; want all %d", got, nodes)
	}
}

const claimGraph = `graph: {nodes: [
	{id: claim, resource: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}}},
	{id: app, dependencies: [claim], resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: app}}}]}`

// claim returns the claim of claimGraph.
func claim(t *testing.T, uid string, version int, phase string) *unstructured.Unstructured {
	t.Helper()
	return live(t, self, fmt.Sprintf("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, uid: %s, resourceVersion: '%d'}, status: {phase: %s}}", uid, version, phase))
}

// A Pending claim is explained at once, and every second while its Events don't tell
// anything, also during other applies. It is ready if they tell that it waits for a Pod.
func TestExplainDecidesOnClaims(t *testing.T) {
	b := newEnv(t, "{"+claimGraph+"}", nil, Options{ExplainInterval: 10 * time.Second, NeverApplied: true})
	b.step()
	b.answer(Record, Outcome{})
	b.expect("Apply data")
	b.answer(Apply, Outcome{Object: claim(t, "u1", 1, "Pending"), Created: true, Changed: true})
	b.expect("Explain data")
	b.now = b.now.Add(time.Second)
	b.expect("") // the lookup is in flight
	b.answer(Explain, Outcome{Found: readiness.Verdict{Message: "no volume"}})
	b.expect("Explain data")
	b.wantShow("claim Progressing: is Pending, not Bound: no volume", "app Blocked: waits for claim")
	b.answer(Explain, Outcome{Err: errors.New("try later")})
	b.expect("")
	b.now = b.now.Add(time.Second)
	b.expect("Explain data")
	b.answer(Explain, Outcome{Found: readiness.Verdict{State: readiness.Ready, Message: "waits for a Pod"}})
	b.expect("Apply app")
	b.wantShow("claim Ready: waits for a Pod", "app Applying")

	// It stays ready as long as it is the same claim.
	b.Observe(claim(t, "u1", 2, "Pending"))
	b.expect("")
	b.wantShow("claim Ready: waits for a Pod", "app Applying")
	b.Observe(claim(t, "u1", 3, "Bound"))
	b.expect("")
	b.wantShow("claim Ready", "app Applying")
	b.Observe(claim(t, "u1", 4, "Lost"))
	b.expect("")
	b.wantShow("claim Progressing: is Lost, not Bound", "app Applying")
	b.Observe(claim(t, "u2", 5, "Pending"))
	b.now = b.now.Add(time.Second)
	b.step()
	if got := b.Statuses()[0]; got.Phase == v1alpha1.NodeReady {
		t.Errorf("another claim of the name is %s: %s", got.Phase, got.Message)
	}
}

// A node is degraded while its explanation says so.
func TestExplainDegrades(t *testing.T) {
	b := newEnv(t, "{graph: {nodes: [{id: a, resource: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}}]}}", nil, Options{ExplainInterval: 10 * time.Second, NeverApplied: true})
	b.step()
	b.answer(Record, Outcome{})
	b.step()
	b.answer(Apply, Outcome{Object: live(t, self, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, uid: a, resourceVersion: '1'}}"), Created: true, Changed: true})
	b.step()
	explain := func(found readiness.Verdict) {
		t.Helper()
		b.now = b.now.Add(10 * time.Second)
		b.expect("Explain a")
		b.answer(Explain, Outcome{Found: found})
		if step := b.step(); step != "" || b.last.Phase != Executing {
			t.Fatalf("%s in phase %s", step, b.last.Phase)
		}
	}
	const unseen = "the Deployment controller hasn't seen it yet"
	explain(readiness.Verdict{Message: "crashes"})
	b.wantShow("a Progressing: " + unseen + ": crashes")
	explain(readiness.Verdict{State: readiness.Degraded, Message: "crashes"})
	b.wantShow("a Degraded Degraded: " + unseen + ": crashes")
	explain(readiness.Verdict{Message: "starts"})
	b.wantShow("a Progressing: " + unseen + ": starts")
}
