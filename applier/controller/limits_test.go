package controller_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

// A graph that is deleted and created again at once is another graph.
func TestRecreatedAtOnce(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	for round := range 10 {
		b.apply(b.rendered("web", nodes(configMap("a", "a", fmt.Sprint(round)), configMap("x", fmt.Sprintf("x%d", round), "1"))))
		if round%2 == 0 {
			b.ready("web")
		}
		b.remove("web")
		b.gone("web")
		// The API server may delete the graph although the finalizer has just been added;
		// see clean.go.
		b.eventually("its objects are deleted", func(ctx ctx) bool {
			return !b.exists(ctx, "v1", "ConfigMap", "a") && !b.exists(ctx, "v1", "ConfigMap", fmt.Sprintf("x%d", round))
		})
	}
	b.apply(b.rendered("web", nodes(configMap("a", "a", "last"))))
	b.ready("web")
}

// A graph that is deleted without its finalizer in its first execution leaves nothing
// behind, whether another graph of its name follows or not.
func TestDeletedInItsFirstExecution(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"for good": false, "created again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, proxy := proxied(t)
			proxy.Inject(faults.Rule{
				Verbs: []string{"apply"}, Resources: []string{"configmaps"}, Faults: []faults.Fault{faults.Delay{For: 3 * time.Second}},
			})
			b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
			b.eventually("the first objects are applied", func(ctx) bool {
				return proxy.Count(func(r faults.Request) bool { return r.Verb == "apply" && r.Resource == "configmaps" }) > 0
			})
			b.merge("web", `{"metadata":{"finalizers":null}}`)
			b.remove("web")
			b.gone("web")
			if again {
				b.apply(b.rendered("web", nodes(configMap("b", "b", "2"))))
				b.ready("web")
			}
			b.eventually("the object was applied, and is deleted", func(ctx ctx) bool {
				deletions := proxy.Count(func(r faults.Request) bool { return r.Verb == "delete" && r.Name == "a" })
				return deletions > 0 && !b.exists(ctx, "v1", "ConfigMap", "a")
			})
			b.wantExists(again, "v1", "ConfigMap", "b")
		})
	}
}

// A finalizer that another client removes is added again: without it the graph
// could be deleted and would leave its objects behind.
func TestFinalizerComesBack(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	b.merge("web", `{"metadata":{"finalizers":null}}`)
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if len(rg.Finalizers) == 0 {
			return errNotYet
		}
		return isReady(rg)
	})
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "a")
}

// A status that is as large as can be is still one that can be stored, beside the
// largest graph that is rendered.
func TestLargestStatus(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.account("weak")
	var many []string
	long := strings.Repeat("x", 200)
	for i := range v1alpha1.MaxNodeStates {
		raw, _ := json.Marshal(map[string]any{"id": fmt.Sprintf("n%d-%s", i, long[:50]), "resource": map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("n%d-%s", i, long)},
			"data": map[string]any{"a": strings.Repeat("y", 1000)},
		}})
		many = append(many, string(raw))
	}
	b.apply(b.rendered("web", nodes(many...), as("weak")))
	rg := b.until("web", condition("Stalled", "True", "Forbidden", ""))
	total := 0
	for id, s := range rg.Status.NodeStates {
		if total += len(s.Message); !strings.HasPrefix(s.Message, "configmaps ") {
			t.Errorf("%s: %s", id, s.Message)
		}
	}
	if total > 128<<10 {
		t.Errorf("messages of %d bytes", total)
	}
}

// Outputs that don't fit or can't be told are left out, and that is said.
func TestOutputsLeftOut(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	large := strings.Repeat("x", 200<<10)
	b.apply(b.rendered("web", nodes(configMap("a", "a", large), configMap("b", "b", "small"))+
		"\noutputs: {one: {$from: a.data.a}, two: {$from: 'a.data.a + a.data.a'}, none: {$from: b.data.nothing}, small: {$from: b.data.a}}"))
	rg := b.ready("web")
	if got := string(rg.Status.Outputs["small"].Raw); got != `"small"` || len(rg.Status.Outputs) != 1 {
		t.Errorf("%d outputs; small: %s", len(rg.Status.Outputs), got)
	}
	want := "True Completed: 2 objects are ready; outputs.none: waits for b.data.nothing; " +
		"outputs.two: yields more than 262144 bytes (in a.data.a + a.data.a); " +
		"outputs.one: omitted, its 201 KiB exceed the 128 KiB that all outputs share"
	if got := conditionText(rg, "Ready"); got != want {
		t.Errorf("condition %s; want %s", got, want)
	}
}

// A graph that leaves no room for its status says so, and nothing is applied that
// isn't in its inventory.
func TestGraphTooLarge(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	var many []string
	for i := range 100 { // their inventory and states don't fit beside them
		many = append(many, configMap(fmt.Sprintf("n%d", i), fmt.Sprintf("n%d", i), strings.Repeat("x", 15_400)))
	}
	b.apply(b.rendered("web", nodes(many...)))
	rg := b.until("web", condition("Stalled", "True", "TooLarge", "split the graph"))
	if b.exists(t.Context(), "v1", "ConfigMap", "n0") && (rg.Status.Inventory == nil || rg.Status.Inventory.Count != 100) {
		t.Errorf("what was applied isn't in the inventory: %+v", rg.Status.Inventory)
	}
	b.apply(b.rendered("web", nodes(configMap("n0", "n0", "1"))))
	b.ready("web")
	b.remove("web")
	b.gone("web")
}

// What can't be stored in a status is reported all the same, and the graph is executed
// again once it is mended.
func TestUnstorableStatus(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	for name, node := range map[string]string{
		"name": `{apiVersion: v1, kind: ConfigMap, metadata: {name: ` + strings.Repeat("x", 600) + `}}`,
		"kind": `{apiVersion: example.com/v1, kind: ` + strings.Repeat("X", 100) + `, metadata: {name: x}}`,
	} {
		b.apply(b.rendered(name, nodes(`{id: a, resource: `+node+`}`, configMap("b", name+"-b", "1"))))
		b.until(name, condition("Stalled", "True", "Invalid", ""))
		b.apply(b.rendered(name, nodes(configMap("b", name+"-b", "1"))))
		b.ready(name)
	}
	b.merge("name", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"`+strings.Repeat("x", 300)+`"}}}`)
	b.until("name", func(rg *v1alpha1.ResourceGraph) error {
		if !strings.HasPrefix(rg.Status.ReconcileRequestedAt, "xxx") {
			return errNotYet
		}
		return isReady(rg)
	})
}

// Two graphs that claim one object: the first has it, the second is told so, and
// gets it when the first gives it up.
func TestTwoGraphsOneObject(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("one", nodes(configMap("a", "a", "1"), configMap("b", "b", "1"))))
	b.ready("one")
	b.apply(b.rendered("two", nodes(configMap("a", "a", "2"))))
	b.until("two", condition("Stalled", "True", "", "belongs to graph "+b.Namespace+"/one"))
	b.event("two", "AdoptionFailed", "node a: ConfigMap "+b.Namespace+"/a")
	if got := b.data(t.Context(), "a"); got != "1" {
		t.Errorf("a is of graph %s", got)
	}
	uid := b.uid("a")
	b.apply(b.rendered("one", nodes(configMap("b", "b", "1"))))
	b.ready("one")
	b.ready("two")
	if got := b.data(t.Context(), "a"); got != "2" || b.uid("a") != uid {
		t.Errorf("a is of graph %s, made anew: %t", got, b.uid("a") != uid)
	}
	// The one that goes leaves what the other has.
	b.remove("one")
	b.gone("one")
	b.wantExists(true, "v1", "ConfigMap", "a")
	b.wantExists(false, "v1", "ConfigMap", "b")
}

// What a namespaced account may not do isn't done for it.
func TestClusterScopedObjects(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	name := b.Unique("escape")
	b.apply(b.rendered("web", nodes(
		`{id: role, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: `+name+`}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]}}`,
		`{id: ns, resource: {apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}}`,
		`{id: other, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: kube-system}}}`,
		`{id: long, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: long, labels: {a: `+strings.Repeat("x", 64)+`}}}}`,
		`{id: wordy, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: wordy, annotations: {a: `+strings.Repeat("x", 300<<10)+`}}}}`,
		configMap("fine", "fine", "1"),
	)))
	rg := b.until("web", condition("Stalled", "True", "", ""))
	if got, want := phases(rg), "fine Ready, long Failed, ns Failed, other Failed, role Failed, wordy Failed"; got != want {
		t.Errorf("nodes %s; want %s", got, want)
	}
	// What it was never allowed to make doesn't hold the graph.
	b.apply(b.rendered("web", nodes(configMap("fine", "fine", "1"),
		`{id: ns, resource: {apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}}`)))
	b.until("web", condition("Stalled", "True", "Forbidden", ""))
	b.apply(b.rendered("web", nodes(configMap("fine", "fine", "1"))))
	rg = b.ready("web")
	if got, want := owned(rg), "ConfigMap fine"; got != want {
		t.Errorf("inventory: %s; want %s", got, want)
	}
	b.apply(b.rendered("web", nodes(configMap("fine", "fine", "1"),
		`{id: ns, resource: {apiVersion: v1, kind: Namespace, metadata: {name: `+name+`}}}`)))
	b.until("web", condition("Stalled", "True", "Forbidden", ""))
	b.remove("web")
	b.gone("web")
	b.wantExists(false, "v1", "ConfigMap", "fine")
}

// A graph may have no nodes.
func TestEmptyGraph(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply(b.rendered("web", "nodes: []"))
	rg := b.ready("web")
	t.Log(conditionText(rg, "Ready"))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	b.apply(b.rendered("web", "nodes: []"))
	b.ready("web")
	b.wantExists(false, "v1", "ConfigMap", "a")
	b.remove("web")
	b.gone("web")
}

// Neither reads nor adoptions cross namespaces where writes may not.
func TestNoCrossNamespaceAtAll(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	b.options.NoCrossNamespace = true
	b.clusterAdmin("pequod")
	b.start(b.Config)
	for name, test := range map[string]struct {
		text string
		edit func(*v1alpha1.ResourceGraphSpec)
	}{
		"reads":                 {text: nodes(`{id: theirs, externalRef: {apiVersion: v1, kind: ConfigMap, name: kube-root-ca.crt, namespace: default}}`)},
		"cluster-scoped-reads":  {text: nodes(`{id: theirs, externalRef: {apiVersion: v1, kind: Namespace, name: default}}`)},
		"cluster-scoped-writes": {text: nodes(`{id: a, resource: {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: TEST-NS}}}`)},
		"unknown-kind":          {text: nodes(`{id: a, resource: {apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.TEST-NS.example.com}, spec: {group: x, version: v1, groupPriorityMinimum: 1, versionPriority: 1}}}`)},
		"writes":                {text: nodes(`{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}}`)},
		"adopts": {text: nodes(`{id: a, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: default}}}`), edit: func(s *v1alpha1.ResourceGraphSpec) {
			s.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit, Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "kube-root-ca.crt", Namespace: "default"}}}
		}},
	} {
		edits := []func(*v1alpha1.ResourceGraphSpec){}
		if test.edit != nil {
			edits = append(edits, test.edit)
		}
		b.apply(b.rendered(name, test.text, edits...))
		b.until(name, condition("Stalled", "True", "CrossNamespace", "--no-cross-namespace"))
	}

	const group = "latescope.example.com"
	b.apply(b.rendered("late", nodes(`{id: a, resource: {apiVersion: `+group+`/v1, kind: Box, metadata: {name: late}}}`)))
	b.until("late", condition("Ready", "False", "UnknownKind", ""))
	b.define(group, boxes)
	b.until("late", condition("Stalled", "True", "CrossNamespace", "--no-cross-namespace"))
	b.wantExists(false, group+"/v1", "Box", "late")
}

// The API server refuses graphs that the applier couldn't address or label.
func TestRefusedByTheDefinition(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	for name, test := range map[string]struct{ account, want string }{
		strings.Repeat("x", 64): {"", "the name must have at most 63 characters"},
		"path":                  {"../default", "spec.serviceAccountName: Invalid value"},
		"escaped":               {"a%2fb", "spec.serviceAccountName: Invalid value"},
	} {
		rg := b.rendered(name, nodes(configMap("a", "a", "1")), as(test.account))
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rg)
		if err != nil {
			t.Fatal(err)
		}
		delete(object, "status")
		_, err = b.graphs().Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v; want %s", name, err, test.want)
		}
	}
	b.start(b.Config)
	b.apply(b.rendered(strings.Repeat("x", 63), nodes(configMap("a", "a", "1")), as("pequod")))
	b.ready(strings.Repeat("x", 63))
}
