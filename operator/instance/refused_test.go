package instance_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/test/harness"
)

// An instance that CUE or a policy refuses keeps its former graph. Its status and one Event
// have the message of pequod validate.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	reg := prometheus.NewPedanticRegistry()
	b.metrics = metrics.New(reg).Controller("platforminstance")
	b.platform(appModule, v1alpha1.TransformSpec{})
	b.start(b.Config)
	for _, test := range []struct {
		name, spec, reason, message, event string
	}{
		{"cue", "{text: broken}", "CueRenderFailed", "nodes.first.resource.data.text: conflicting values", "CueRenderFailed: /app.cue:"},
		{"outside", "{text: unwatched}", "CueRenderFailed", "nodes.watch.resource.spec.rules[0]: (ill) reads mood, which the query doesn't select", "CueRenderFailed: /app.cue:"},
		{"policy", "{text: forbidden}", "PolicyViolation", "spec.text: must not be forbidden (/app.cue:", "PolicyViolation: spec.text: must not be forbidden"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.apply(test.name, "{text: good}")
			b.ready(test.name)
			before := b.graph(test.name)
			b.apply(test.name, test.spec)
			a := b.until(test.name, condition("False", test.reason, test.message))
			b.until(test.name, condition("False", test.reason, "; the ResourceGraph stays as it was before"))
			if a.Status.Phase != "Failed" || a.Status.Outputs["text"] != "good" {
				t.Errorf("status: %+v", a.Status)
			}
			if !slices.ContainsFunc(a.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Stalled" && c.Status == "True" }) {
				t.Errorf("conditions: %+v", a.Status.Conditions)
			}
			b.event(test.name, test.event)
			// Another manager finds the same, and emits no second Event.
			if after := b.graph(test.name); after.Generation != before.Generation || after.UID != before.UID {
				t.Error("the graph was changed")
			}
			b.apply(test.name, "{text: better}")
			b.ready(test.name)
			if got := b.text(t.Context(), test.name); got != "better" {
				t.Errorf("ConfigMap has %q", got)
			}
		})
	}
	t.Run("from the beginning", func(t *testing.T) {
		b.apply("never", "{text: forbidden}")
		a := b.until("never", condition("False", "PolicyViolation", "must not be forbidden"))
		if strings.Contains(a.Status.Conditions[0].Message, "ResourceGraph") || a.Status.ResourceGraphRef.Name != "" {
			t.Errorf("status: %+v", a.Status)
		}
		if _, err := b.readGraph(t.Context(), "never"); !isGone(err) {
			t.Errorf("the graph of an instance that was refused: %v", err)
		}
	})
	t.Run("counted", func(t *testing.T) {
		// Each generation is counted once, whatever happens to the instance besides.
		b.merge("never", `{"metadata":{"annotations":{"pequod.io/reconcile-requested-at":"now"}}}`)
		b.until("never", func(a *app) error {
			if a.Status.LastHandledReconcileAt != "now" {
				return errors.New("the request isn't handled")
			}
			return nil
		})
		b.violations(reg, 2)
		b.merge("never", `{"spec":{"second":"changed"}}`)
		b.until("never", condition("False", "PolicyViolation", ""))
		b.violations(reg, 3)
		b.stop()
		b.start(b.Config)
		b.apply("other", "{text: good}")
		b.ready("other")
		b.violations(reg, 3)
	})
	t.Run("counted after another refusal", func(t *testing.T) {
		b.local.set(func(in *unstructured.Unstructured) (problem.List, error) {
			if in.GetName() == "late" {
				return nil, errors.New("platform app: it took longer than 10s")
			}
			return nil, nil
		})
		b.apply("late", "{text: forbidden}")
		b.until("late", condition("False", "CueRenderFailed", "it took longer than 10s"))
		b.violations(reg, 3)
		if n := b.count(reg, "pequod_reconcile_total", "error"); n == 0 {
			t.Error("no instance that was refused counts as an error")
		}
		b.local.set(nil)
		b.until("late", condition("False", "PolicyViolation", "must not be forbidden"))
		b.violations(reg, 4)
	})
}

// violations checks the number of counted findings of policies.
func (b *env) violations(reg *prometheus.Registry, want float64) {
	b.t.Helper()
	if got := b.count(reg, "pequod_policy_violations_total", "Error"); got != want {
		b.t.Errorf("%v violations are counted; want %v", got, want)
	}
}

// count returns the sum of the counters with a name and a value of some label.
func (b *env) count(reg *prometheus.Registry, name, label string) (sum float64) {
	b.t.Helper()
	families, err := reg.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == label {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

// A policy that can't be evaluated keeps the graph as it is.
func TestPolicyThatCannotBeEvaluated(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.apply("web", "{text: good}")
	b.ready("web")
	b.local.set(func(*unstructured.Unstructured) (problem.List, error) {
		return problem.List{{Rule: problem.RuleUnchecked, Message: "policy gives no answer: incomplete value", Position: problem.Position{File: "policy"}}}, nil
	})
	b.apply("web", "{text: other}")
	b.until("web", condition("False", "PolicyNotEvaluated", "policy gives no answer: incomplete value; the ResourceGraph stays"))
	b.event("web", "CueRenderFailed: policy gives no answer")
	if got := b.text(t.Context(), "web"); got != "good" {
		t.Errorf("ConfigMap has %q", got)
	}
}

// A module that can't be evaluated at the moment is tried again, and other kinds go on.
func TestRenderingIsRetried(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.local.set(func(in *unstructured.Unstructured) (problem.List, error) {
		if in.GetName() == "slow" {
			return nil, errors.New("platform app: it took longer than 10s")
		}
		return nil, nil
	})
	b.apply("slow", "{text: one}")
	a := b.until("slow", condition("False", "CueRenderFailed", "it took longer than 10s"))
	if a.Status.Phase != "Rendering" {
		t.Errorf("phase %s", a.Status.Phase)
	}
	b.apply("quick", "{text: one}")
	b.ready("quick")
	b.event("slow", "CueRenderFailed: platform app: it took longer than 10s")
	b.eventually("it is tried again", func(ctx) bool { return b.local.count("slow") > 1 })
	b.local.set(nil)
	b.ready("slow")
	if events := b.events(t.Context(), "slow"); len(events) != 1 {
		t.Errorf("Events: %q", events)
	}
}

// Instances of a module that takes long to evaluate don't delay those of another one.
func TestSlowModule(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	slow := make(chan struct{})
	defer close(slow)
	b.local.set(func(in *unstructured.Unstructured) (problem.List, error) {
		if in.GetKind() == "App" {
			<-slow
		}
		return nil, nil
	})
	const instances = 10 // more than are rendered at once
	for i := range instances {
		b.apply(fmt.Sprint("slow-", i), "{text: one}")
	}
	b.eventually("renderings are under way", func(ctx) bool {
		for i := range instances { // in any order
			if b.local.count(fmt.Sprint("slow-", i)) > 0 {
				return true
			}
		}
		return false
	})
	b.second(strings.ReplaceAll(appModule, `kind: "App"`, `kind: "Other"`))
	b.apply("quick", "{text: two}")
	b.ready("quick")
}

// The objects of an instance that can't be applied show on the instance why.
func TestFailedNode(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	b.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: taken}, data: {text: one}}`)
	b.apply("web", "{text: one, name: taken, second: two}")
	a := b.until("web", condition("False", "AdoptionRequired", `first: exists already and belongs to no graph: set the annotation pequod.io/adopt: "true" on App web to take it over`))
	if f := a.Status.FirstFailure; a.Status.Phase != "Failed" || f == nil || f.Node != "first" || f.Reason != "AdoptionRequired" ||
		!strings.HasPrefix(f.Message, "exists already") {
		t.Errorf("status: %+v, %+v", a.Status, f)
	}
	if n := a.Status.Nodes; n.Total != 2 || n.Failed != 1 || n.Ready != 0 {
		t.Errorf("nodes: %+v", n)
	}
	b.event("web", "AdoptionFailed: node first: ConfigMap "+b.Namespace+`/taken: exists already and belongs to no graph: set the annotation pequod.io/adopt: "true" on App web`)
	b.merge("web", `{"metadata":{"annotations":{"pequod.io/adopt":"true"}}}`)
	b.ready("web")
	if got := b.text(t.Context(), "taken"); got != "one" {
		t.Errorf("ConfigMap has %q", got)
	}

	// Drift is shown on the instance, too.
	if _, err := b.kubectl("patch", "configmap", "taken", "--type=merge", `--patch={"data":{"text":"drifted"}}`); err != nil {
		t.Fatal(err)
	}
	b.event("web", "DriftCorrected: node first: ConfigMap "+b.Namespace+"/taken was changed by others")

	// An object of another instance is not taken over.
	b.apply("thief", "{text: stolen, name: web-second}")
	b.until("thief", condition("False", "", "first: belongs to graph "+b.Namespace+"/"+b.graphName("web")))
}

// Two instances of a name one after the other, and graphs of other origin.
func TestGraphOfOtherOrigin(t *testing.T) {
	t.Parallel()
	b := newEnv(t)
	rg, _, err := renderLocally(b.local.platforms[b.entry.Digest], b.manifest("web", "{text: by hand}").Object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.graphs().Create(t.Context(), object(t, rg), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	b.apply("web", "{text: one}")
	b.until("web", condition("False", "GraphExists", "was not made by pequod-manager"))
	got := b.graph("web")
	if len(got.OwnerReferences) > 0 || got.Labels["pequod.io/managed-by-operator"] != "" {
		t.Errorf("the graph was changed: %+v", got.ObjectMeta)
	}
	if err := b.graphs().Delete(t.Context(), rg.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.ready("web")
}
