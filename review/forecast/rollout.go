package forecast

import (
	"reflect"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// mismatched reports whether the labels of the Pod template lack one of the selector.
func (s *subject) mismatched() bool {
	want, _ := value(s.diff.New(), "spec.selector.matchLabels").(map[string]any)
	have, _ := value(s.diff.New(), "spec.template.metadata.labels").(map[string]any)
	for k, v := range want {
		if !reflect.DeepEqual(v, have[k]) {
			return true
		}
	}
	return false
}

// partition returns the ordinal from which a StatefulSet updates its Pods.
func (s *subject) partition() int {
	return number(value(s.diff.New(), "spec.updateStrategy.rollingUpdate.partition"), 0)
}

// shifted reports whether the ordinals of a StatefulSet change. The Pods that the new
// range lacks end.
func (s *subject) shifted() (detail, bool) {
	was := number(value(s.diff.Old(), "spec.ordinals.start"), 0)
	is := number(value(s.diff.New(), "spec.ordinals.start"), 0)
	n, _ := s.running()
	return detail{pods: min(n, max(is-was, was-is))}, was != is
}

// allUnavailable reports whether a rolling update may end all Pods at once; see
// ResolveFenceposts in pkg/controller/deployment/util of Kubernetes.
func (s *subject) allUnavailable() bool {
	if s.diff.Kind == "DaemonSet" {
		unavailable, _ := value(s.diff.New(), "spec.updateStrategy.rollingUpdate.maxUnavailable").(string)
		return unavailable == "100%"
	}
	n, _ := s.running()
	if n == 0 {
		return false
	}
	unavailable, surge := s.fenceposts(n)
	return unavailable >= n && surge < n
}

// fenceposts returns how many of n Pods of a Deployment may be unavailable in an update,
// and how many more may exist.
func (s *subject) fenceposts(n int) (unavailable, surge int) {
	unavailable = share(value(s.diff.New(), "spec.strategy.rollingUpdate.maxUnavailable"), n, false)
	surge = share(value(s.diff.New(), "spec.strategy.rollingUpdate.maxSurge"), n, true)
	if unavailable == 0 && surge == 0 {
		unavailable = 1
	}
	return unavailable, surge
}

// share returns a number of Pods or a percentage of n. The default is 25 %.
func share(v any, n int, up bool) int {
	limit := intstr.FromString("25%")
	switch v := v.(type) {
	case int64:
		return int(v)
	case string:
		limit = intstr.FromString(v)
	}
	number, _ := intstr.GetScaledValueFromIntOrPercent(&limit, n, up) // 0 for a text that is no percentage
	return number
}

// autoscaled reports whether an autoscaler sets the replicas of the object after the
// change.
func (s *subject) autoscaled() (detail, bool) {
	if s.diff.New() == nil {
		return detail{}, false
	}
	a, ok := s.sides.after.autoscalerOf(s.diff.New())
	return detail{text: a.object.String()}, ok
}

// targetSetsReplicas reports whether the object is a new autoscaler, or one with a new
// target, and the manifest of the target sets spec.replicas.
func (s *subject) targetSetsReplicas() (detail, bool) {
	if s.diff.New() == nil {
		return detail{}, false
	}
	a, ok := autoscalerOf(s.diff.New())
	if !ok {
		return detail{}, false
	}
	target := s.sides.after.all[a.target]
	return detail{text: a.target.String()}, target != nil && target.SetsReplicas()
}
