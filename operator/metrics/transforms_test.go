package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestTransforms checks that each Transform has the series of its present conditions only.
func TestTransforms(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := NewTransforms(reg)
	web, db := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "db"}
	m.Conditions(web, []metav1.Condition{{Type: "Ready", Status: "False"}, {Type: "Stalled", Status: "True"}})
	m.Conditions(db, []metav1.Condition{{Type: "Ready", Status: "True"}})
	m.Conditions(web, []metav1.Condition{{Type: "Ready", Status: "True"}})
	want := map[string]float64{"pequod_transforms Ready shop/web True": 1, "pequod_transforms Ready shop/db True": 1}
	if diff := cmp.Diff(want, gather(t, reg)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.Conditions(web, nil)
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
