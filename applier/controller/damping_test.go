package controller_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/test/faults"
	"github.com/pequod-io/pequod/test/harness"
)

const dampedText = "was written 10 times although the graph didn't change"

// damped returns a check that a graph reports in its status that a node is damped.
func damped(node string) func(*v1alpha1.ResourceGraph) error {
	return func(rg *v1alpha1.ResourceGraph) error {
		if got := rg.Status.NodeStates[node].Message; !strings.Contains(got, dampedText) {
			return fmt.Errorf("node %s: %q", node, got)
		}
		return nil
	}
}

// An object that others delete again and again is created once and then ten times
// again, and its Events are counted as one.
func TestDeletedAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"))))
	b.ready("web")
	b.eventually("damped", func(ctx ctx) bool {
		err := b.resource("v1", "ConfigMap").Delete(ctx, "a", metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		rg, err := b.get(ctx, "web")
		return err == nil && strings.Contains(rg.Status.NodeStates["a"].Message, dampedText)
	})
	writes := proxy.Count(func(r faults.Request) bool { return r.Verb == "apply" && r.Resource == "configmaps" && r.Name == "a" })
	if writes < 1+10 || writes > 1+10+2 { // a deletion may come first and fail one
		t.Errorf("written %d times", writes)
	}
	b.event("web", "DriftCorrected", "was deleted by others and has been recreated")
	events, err := b.Client.EventsV1().Events(b.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range events.Items {
		if e.Reason == "DriftCorrected" {
			seen++
		}
	}
	if seen > 2 {
		t.Errorf("%d Events", seen)
	}
	// A change of the graph is executed at once.
	b.apply(b.rendered("web", nodes(configMap("a", "a", "2"))))
	b.ready("web")
	b.eventually("applied", func(ctx ctx) bool { return b.data(ctx, "a") == "2" })
}

// Two graphs that both adopt an object take it from each other a few times, and the
// status of each names the other one. The contest ends when one of them gives it up.
func TestTwoGraphsAdoptOneObject(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	for _, name := range []string{"one", "two"} {
		b.apply(b.rendered(name, nodes(configMap("a", "shared", name), configMap("b", name, "1")), func(s *v1alpha1.ResourceGraphSpec) {
			s.Adopt = &v1alpha1.Adopt{Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "shared"}}}
		}))
		if name == "one" {
			b.ready(name)
		}
	}
	// The one that waits gives up, after the other one has taken the object.
	waits, has := "", ""
	b.eventually("one has it, the other one waits", func(ctx ctx) bool {
		phase := map[string]v1alpha1.NodePhase{}
		for name, rival := range map[string]string{"one": "two", "two": "one"} {
			rg, err := b.get(ctx, name)
			text := " times from graph " + b.Namespace + "/" + rival + ", which adopts it, too"
			if err != nil || !strings.Contains(rg.Status.NodeStates["a"].Message, text) || !strings.Contains(conditionText(rg, "Ready"), text) {
				return false
			}
			phase[name] = rg.Status.NodeStates["a"].Phase
		}
		if waits, has = "one", "two"; phase["two"] == v1alpha1.NodeWaiting {
			waits, has = has, waits
		}
		return phase[waits] == v1alpha1.NodeWaiting && phase[has] == v1alpha1.NodeReady
	})
	writes := proxy.Count(func(r faults.Request) bool {
		return r.Verb == "apply" && r.Resource == "configmaps" && r.Name == "shared"
	})
	if writes > 2*(1+10)+3 { // a few are rejected, because the other graph's write comes first
		t.Errorf("written %d times", writes)
	}
	uid := b.uid("shared")
	b.apply(b.rendered(waits, nodes(configMap("b", waits, "1"))))
	b.ready(waits)
	b.ready(has)
	if got := b.data(t.Context(), "shared"); got != has || b.uid("shared") != uid {
		t.Errorf("the object is of graph %s, and recreated: %t; want %s", got, b.uid("shared") != uid, has)
	}
}

// Two graphs that read each other's object write it ten times again, and then seldom.
func TestGraphsThatReadEachOther(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	graph := func(own, other string) *v1alpha1.ResourceGraph {
		return b.rendered(own, nodes(
			`{id: other, externalRef: {apiVersion: v1, kind: ConfigMap, name: count-`+other+`}}`,
			`{id: own, applyPolicy: {mode: Adopt}, resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: count-`+own+`}, data: {count: {$from: "string(int(other.?data.?count.orValue('0')) + 1)"}}}}`))
	}
	// Each waits for the other's object, so one of them exists before.
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: count-b}}`)
	b.apply(graph("a", "b"))
	b.apply(graph("b", "a"))
	// When one of them rests, the other has nothing to react to.
	b.eventually("one of them is damped", func(ctx ctx) bool {
		x, errX := b.get(ctx, "a")
		y, errY := b.get(ctx, "b")
		return errX == nil && errY == nil && (damped("own")(x) == nil || damped("own")(y) == nil)
	})
}
