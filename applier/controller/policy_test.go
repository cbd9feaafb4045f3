package controller_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/metrics"
	"github.com/pequod-io/pequod/test/harness"
)

// violated returns a spec with findings of policies, of one severity each. It has
// only a graph, as one that is written by hand.
func violated(severities ...v1alpha1.Severity) func(*v1alpha1.ResourceGraphSpec) {
	return func(s *v1alpha1.ResourceGraphSpec) {
		s.SourceRef, s.PlatformRef, s.RenderHash = v1alpha1.ObjectRef{}, v1alpha1.PlatformRef{}, ""
		for _, severity := range severities {
			s.Graph.Violations = append(s.Graph.Violations, v1alpha1.Violation{
				Severity: severity, Node: "a", Path: "resource.data", Message: "found by " + string(severity),
			})
		}
	}
}

// A graph with an error of a policy isn't executed, whoever applies it. All findings
// are counted once.
func TestPolicyViolation(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	reg := prometheus.NewPedanticRegistry()
	b.options.Metrics = metrics.New(reg)
	b.start(b.Config)
	text := nodes(configMap("a", "a", "1"))
	b.apply(b.rendered("web", text, violated(v1alpha1.SeverityError, v1alpha1.SeverityWarning, v1alpha1.SeverityError)))
	const message = "nodes.a.resource.data: found by Error (and 1 other violation)"
	b.until("web", condition("Stalled", "True", "PolicyViolation", message))
	b.event("web", "PolicyViolation", message)
	b.wantExists(false, "v1", "ConfigMap", "a")

	b.apply(b.rendered("web", text, violated(v1alpha1.SeverityWarning, v1alpha1.SeverityInfo)))
	b.ready("web")
	b.event("web", "PolicyWarning", "nodes.a.resource.data: found by Warning")
	b.event("web", "PolicyNotice", "nodes.a.resource.data: found by Info")
	b.merge("web", `{"metadata":{"annotations":{"`+v1alpha1.AnnotationReconcileRequestedAt+`":"now"}}}`)
	b.until("web", func(rg *v1alpha1.ResourceGraph) error {
		if rg.Status.ReconcileRequestedAt != "now" {
			return errNotYet
		}
		return nil
	})
	for severity, want := range map[v1alpha1.Severity]float64{v1alpha1.SeverityError: 2, v1alpha1.SeverityWarning: 2, v1alpha1.SeverityInfo: 1} {
		if got := value(t, reg, "pequod_policy_violations_total", "severity", string(severity)); got != want {
			t.Errorf("%v violations of severity %s; want %v", got, severity, want)
		}
	}
}

// A graph that stalls as a whole has an Event, is counted as an error, and is counted
// by its condition.
func TestStalledGraphIsReported(t *testing.T) {
	t.Parallel()
	b := idle(t, harness.Start(t))
	reg := prometheus.NewPedanticRegistry()
	b.options.Metrics = metrics.New(reg)
	b.start(b.Config)
	b.apply(b.rendered("web", nodes(configMap("a", "a", "1")), func(s *v1alpha1.ResourceGraphSpec) { s.ServiceAccountName = "missing" }))
	message := fmt.Sprintf("service account missing of namespace %s doesn't exist", b.Namespace)
	b.until("web", condition("Stalled", "True", "ServiceAccountMissing", message))
	b.event("web", "ServiceAccountMissing", message)
	b.apply(b.rendered("cycle", nodes(configMap("a", "b", "1", "c"), configMap("c", "c", "1", "a"))))
	b.until("cycle", condition("Stalled", "True", "Invalid", "cycle"))
	b.event("cycle", "Invalid", "cycle")
	b.eventually("a reconciliation of each graph is counted as an error", func(ctx) bool { return value(t, reg, "pequod_reconcile_total", "result", "error") >= 2 })
	b.eventually("counted", func(ctx) bool { return value(t, reg, "pequod_graphs", "condition", "Stalled") == 2 })
	b.remove("web")
	b.remove("cycle")
	b.gone("web")
	b.gone("cycle")
	b.eventually("no longer counted", func(ctx) bool { return value(t, reg, "pequod_graphs", "condition", "Stalled") == 0 })
}

// value returns the value of the series of a metric whose label has a value, zero if
// there is none.
func value(t *testing.T, reg prometheus.Gatherer, name, label, of string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetName() == label && l.GetValue() == of {
					return m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	return 0
}
