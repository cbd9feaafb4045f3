package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Transforms are the conditions of Transforms and the phases of their rollouts. It is safe for
// concurrent use.
type Transforms struct {
	conditions, rollouts *prometheus.GaugeVec

	mu sync.Mutex
	// shown are the series of each Transform.
	shown map[types.NamespacedName]map[series]bool
}

// series is a series of one of the metrics, by the values of its labels.
type series struct {
	vec    *prometheus.GaugeVec
	labels [3]string // the last one is "" for rollouts
}

// values returns the values of the labels.
func (s series) values() []string {
	if s.labels[2] == "" {
		return s.labels[:2]
	}
	return s.labels[:]
}

// NewTransforms registers the metrics with reg.
func NewTransforms(reg prometheus.Registerer) *Transforms {
	t := &Transforms{
		shown: map[types.NamespacedName]map[series]bool{},
		conditions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "transforms", Help: "Transforms by the conditions in their status.",
		}, []string{"platform", "condition", "status"}),
		rollouts: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "rollouts", Help: "Transforms by the phase of their last rollout.",
		}, []string{"platform", "phase"}),
	}
	reg.MustRegister(t.conditions, t.rollouts)
	return t
}

// Observed records the status of a Transform. If it is nil, its series are removed.
func (t *Transforms) Observed(transform types.NamespacedName, status *v1alpha1.TransformStatus) {
	now := map[series]bool{}
	if status != nil {
		for _, c := range status.Conditions {
			now[series{t.conditions, [3]string{transform.String(), c.Type, string(c.Status)}}] = true
		}
		if r := status.Rollout; r != nil && r.Phase != "" {
			now[series{t.rollouts, [3]string{transform.String(), string(r.Phase)}}] = true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// A series that stays is never missing: an alert would begin to wait again.
	for s := range now {
		s.vec.WithLabelValues(s.values()...).Set(1)
	}
	for s := range t.shown[transform] {
		if !now[s] {
			s.vec.DeleteLabelValues(s.values()...)
		}
	}
	if t.shown[transform] = now; len(now) == 0 {
		delete(t.shown, transform)
	}
}
