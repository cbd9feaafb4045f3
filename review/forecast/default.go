package forecast

import "strings"

// defaults returns the value that the API server gives to a field of a Pod, a Service
// port or a workload that isn't set: SetDefaults in pkg/apis/core/v1/defaults.go and
// pkg/apis/apps/v1/defaults.go of Kubernetes 1.36. The field is given as the end of
// its path. Fields whose default depends on others are left out.
func defaults(path string) (any, bool) {
	for _, d := range []struct {
		end   string
		value any
	}{
		{"template.spec.terminationGracePeriodSeconds", int64(30)},
		{"template.spec.dnsPolicy", "ClusterFirst"},
		{"template.spec.schedulerName", "default-scheduler"},
		{"template.spec.hostNetwork", false},
		{"ontainers.terminationMessagePath", "/dev/termination-log"},
		{"ontainers.terminationMessagePolicy", "File"},
		{"ontainers.ports.protocol", "TCP"},
		{"Probe.timeoutSeconds", int64(1)},
		{"Probe.periodSeconds", int64(10)},
		{"Probe.successThreshold", int64(1)},
		{"Probe.failureThreshold", int64(3)},
		{"Probe.httpGet.scheme", "HTTP"},
		{"Probe.httpGet.path", "/"},
		{"volumeMounts.readOnly", false},
		{"spec.replicas", int64(1)},
		{"spec.parallelism", int64(1)},
		{"spec.ports.protocol", "TCP"},
		{"spec.minReadySeconds", int64(0)},
		{"spec.paused", false},
		{"spec.suspend", false},
	} {
		if strings.HasSuffix(path, d.end) {
			return d.value, true
		}
	}
	return nil, false
}

// defaulted reports whether a field is set to its default, or was and isn't set any
// more: the API server sees no change.
func (l leaf) defaulted() bool {
	v := l.before
	if v == nil {
		v = l.after
	}
	if l.before != nil && l.after != nil {
		return false
	}
	def, ok := defaults(strings.Join(l.keys, "."))
	return ok && v == def
}
