package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestTransforms checks that each Transform has the series of its present status only.
func TestTransforms(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewTransforms(reg)
	web, db := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "db"}
	status := func(phase v1alpha1.RolloutPhase, conditions ...metav1.Condition) *v1alpha1.TransformStatus {
		s := &v1alpha1.TransformStatus{Conditions: conditions}
		if phase != "" {
			s.Rollout = &v1alpha1.RolloutStatus{Phase: phase}
		}
		return s
	}
	m.Observed(web, status(v1alpha1.RolloutHalted, metav1.Condition{Type: "Ready", Status: "False"}, metav1.Condition{Type: "Stalled", Status: "True"}))
	m.Observed(db, status("", metav1.Condition{Type: "Ready", Status: "True"}))
	m.Observed(web, status(v1alpha1.RolloutCompleted, metav1.Condition{Type: "Ready", Status: "True"}))
	want := map[string]float64{"pequod_transforms Ready shop/web True": 1, "pequod_rollouts Completed shop/web": 1, "pequod_transforms Ready shop/db True": 1}
	if diff := cmp.Diff(want, gather(t, reg)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Observed(web, nil)
	if diff := cmp.Diff(map[string]float64{"pequod_transforms Ready shop/db True": 1}, gather(t, reg)); diff != "" {
		t.Errorf("after a deletion (-want +got):\n%s", diff)
	}
}

// TestInstances checks that the numbers are those at the time of the scrape.
func TestInstances(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	ready := 1
	reg.MustRegister(Instances{func(each func(platform, phase string, instances int)) {
		each("shop/web", "Ready", ready)
		each("shop/web", "Failed", 0)
	}})
	ready = 2
	want := map[string]float64{"pequod_instances Ready shop/web": 2, "pequod_instances Failed shop/web": 0}
	if diff := cmp.Diff(want, gather(t, reg)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
