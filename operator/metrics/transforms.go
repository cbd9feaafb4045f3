package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Transforms are the conditions of Transforms. It is safe for concurrent use.
type Transforms struct {
	conditions *prometheus.GaugeVec

	mu sync.Mutex
	// shown are the conditions that have a series, by Transform, with their status.
	shown map[types.NamespacedName]map[string]string
}

// NewTransforms registers the metric with reg.
func NewTransforms(reg prometheus.Registerer) *Transforms {
	t := &Transforms{shown: map[types.NamespacedName]map[string]string{}, conditions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "transforms", Help: "Transforms by the conditions in their status.",
	}, []string{"platform", "condition", "status"})}
	reg.MustRegister(t.conditions)
	return t
}

// Conditions records the conditions in the status of a Transform. Without conditions, its series
// are removed.
func (t *Transforms) Conditions(transform types.NamespacedName, conditions []metav1.Condition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, now := t.shown[transform], map[string]string{}
	for _, c := range conditions {
		now[c.Type] = string(c.Status)
		t.conditions.WithLabelValues(transform.String(), c.Type, string(c.Status)).Set(1)
	}
	// A series that stays is never missing: an alert would begin to wait again.
	for condition, status := range before {
		if now[condition] != status {
			t.conditions.DeleteLabelValues(transform.String(), condition, status)
		}
	}
	if t.shown[transform] = now; len(now) == 0 {
		delete(t.shown, transform)
	}
}
