package forecast

import (
	"reflect"
	"strconv"
	"strings"
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
	if whole, ok := v.(int64); ok {
		return int(whole)
	}
	text, ok := v.(string)
	if !ok {
		text = "25%"
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	if err != nil {
		return 0
	}
	if up {
		return (n*percent + 99) / 100
	}
	return n * percent / 100
}
