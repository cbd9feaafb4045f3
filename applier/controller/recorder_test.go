package controller_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
	"github.com/pequod-io/pequod/test/harness"
)

// notes is a recorder that writes down what it is told.
type notes struct {
	mu    sync.Mutex
	lines []string
	steps int
}

func (n *notes) note(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

// What these are told, TestMetrics holds.
func (n *notes) Declare(*v1alpha1.ResourceGraph)          {}
func (n *notes) Managed(_, _ string, _ []inventory.Entry) {}
func (n *notes) ReconcileFailed(_, g, reason string)      { n.note("%s: can't be executed: %s", g, reason) }

func (n *notes) NodeApplied(_, g, node string, op engine.Operation, took time.Duration) {
	n.note("%s: %s %s, in time: %t", g, node, op, took > 0 && took < time.Minute)
}
func (n *notes) NodeApplyFailed(_, g, node, reason string) {
	n.note("%s: %s failed %s", g, node, reason)
}
func (n *notes) NodeReady(_, g, node string, waited time.Duration) {
	n.note("%s: %s ready, in time: %t", g, node, waited >= 0 && waited < time.Minute)
}
func (n *notes) ReadinessTimeout(_, g, node string) { n.note("%s: %s timed out", g, node) }
func (n *notes) Executed(_, g, phase string, took time.Duration, nodes, waves int) {
	n.note("%s: %s %d nodes in %d waves, in time: %t", g, phase, nodes, waves, took > 0)
}
func (n *notes) AdoptionDone(_, g, mode string, err error) {
	n.note("%s: adoption %s %t", g, mode, err == nil)
}
func (n *notes) Drift(_, g, node string) { n.note("%s: %s drifted", g, node) }
func (n *notes) Waiting(int)             {}
func (n *notes) HistoryRewritten()       { n.note("history rewritten") }

func (n *notes) PolicyViolations(string, int)                 {}
func (n *notes) Conditions(_, _ string, _ []metav1.Condition) {}

func (n *notes) Reconciled(_, _, _ string, _ time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.steps++
}
func (n *notes) Forget(_, g string) { n.note("%s: forgotten", g) }

func (n *notes) count(line string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	count := 0
	for _, l := range n.lines {
		if l == line {
			count++
		}
	}
	return count
}

func (n *notes) all() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.lines)
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	n := &notes{}
	var _ controller.Recorder = n
	b.options.Metrics = n
	proxy := b.Proxy(t, 1)
	b.start(proxy.Config(b.Config))
	b.account("weak", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
	b.Apply(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: theirs}, data: {a: old}}")

	b.apply(b.rendered("web", nodes(configMap("a", "a", "1"), configMap("b", "b", "1", "a"))))
	b.ready("web")
	b.quiet(proxy) // the correction belongs to the next execution, not to this one
	b.patch("v1", "ConfigMap", "a", "somebody", `{"data":{"a":"other"}}`)
	b.eventually("corrected", func(ctx ctx) bool { return b.data(ctx, "a") == "1" })
	b.ready("web")
	b.apply(b.rendered("weak", nodes(`{id: s, resource: {apiVersion: v1, kind: Secret, metadata: {name: s}}}`), as("weak")))
	b.until("weak", condition("Stalled", "True", "Forbidden", ""))
	b.apply(b.rendered("slow", nodes(`{id: p, applyPolicy: {timeout: 300ms}, resource: {apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {testcluster.pequod.io/ready-after: never}}, spec: {containers: [{name: a, image: a}]}}}`)))
	b.until("slow", condition("Stalled", "True", "ReadinessTimeout", "not ready in 300ms"))
	b.event("slow", "ReadinessTimeout", "node p: Pod "+b.Namespace+"/p: not ready in 300ms")
	b.apply(b.rendered("adopter", nodes(configMap("x", "theirs", "old"))))
	b.until("adopter", condition("Stalled", "True", "AdoptionRequired", ""))
	b.event("adopter", "AdoptionFailed", "node x: ConfigMap "+b.Namespace+"/theirs: exists already")
	if got := b.data(t.Context(), "theirs"); got != "old" {
		t.Errorf("theirs was changed to %q", got)
	}
	b.apply(b.rendered("adopter", nodes(configMap("x", "theirs", "old")), func(s *v1alpha1.ResourceGraphSpec) {
		s.Adopt = &v1alpha1.Adopt{Mode: v1alpha1.AdoptExplicit, Resources: []v1alpha1.ObjectRef{{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs"}}}
	}))
	rg := b.ready("adopter")
	if !rg.Status.NodeStates["x"].Adopted {
		t.Errorf("node x: %+v", rg.Status.NodeStates["x"])
	}
	b.apply(b.rendered("lost", nodes(configMap("y", "y", "1")), as("nobody")))
	b.until("lost", condition("Stalled", "True", "ServiceAccountMissing", ""))
	b.remove("web")
	b.gone("web")

	b.eventually("the reason is told", func(ctx) bool { return n.count("lost: can't be executed: ServiceAccountMissing") > 0 })
	for line, want := range map[string]int{
		"web: a created, in time: true":                        1,
		"web: b created, in time: true":                        1,
		"web: a corrected, in time: true":                      1,
		"web: a drifted":                                       1,
		"web: b ready, in time: true":                          1,
		"web: Completed 2 nodes in 2 waves, in time: true":     2,
		"weak: s failed Forbidden":                             1,
		"weak: Failed 1 nodes in 1 waves, in time: true":       1,
		"slow: p timed out":                                    1,
		"adopter: adoption Explicit false":                     1,
		"adopter: adoption Explicit true":                      1,
		"web: forgotten":                                       1,
		"adopter: Completed 1 nodes in 1 waves, in time: true": 1,
		"slow: Failed 1 nodes in 1 waves, in time: true":       1,
		"adopter: x adopted, in time: true":                    1,
		"adopter: Failed 1 nodes in 1 waves, in time: true":    1,
	} {
		b.eventually(line, func(ctx) bool { return n.count(line) >= want })
		// A graph that lacks rights is tried again within seconds, and each try is told.
		if got := n.count(line); got != want && !strings.HasPrefix(line, "weak: ") {
			t.Errorf("%q was told %d times; want %d", line, got, want)
		}
	}
	if t.Failed() {
		t.Logf("%q", n.all())
	}
}
