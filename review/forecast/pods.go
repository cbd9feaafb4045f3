package forecast

import (
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// templatePath returns the path of the Pod template in objects of a kind, or nil if
// the kind has none. A Pod is its own template.
func templatePath(k objectdiff.Key) []string {
	switch {
	case k.Group == "" && k.Kind == "Pod":
		return []string{}
	case k.Group == "batch" && k.Kind == "CronJob":
		return []string{"spec", "jobTemplate", "spec", "template"}
	case k.Group == "apps" && slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet"}, k.Kind),
		k.Group == "batch" && k.Kind == "Job", k.Group == "" && k.Kind == "ReplicationController":
		return []string{"spec", "template"}
	}
	return nil
}

// podSpec returns the Pod spec of a workload, or nil.
func podSpec(o *objectdiff.Object) map[string]any {
	path := templatePath(o.Key)
	if path == nil {
		return nil
	}
	spec, _ := o.Field(append(path, "spec")...).(map[string]any)
	return spec
}

// count returns the number of Pods that a workload runs, as its manifest and its
// autoscaler have it. onNodes is set for a DaemonSet, whose number depends on the
// nodes.
func (t tree) count(o *objectdiff.Object) (n int, onNodes bool) {
	switch o.Kind {
	case "Pod":
		return 1, false
	case "DaemonSet":
		return 0, true
	case "CronJob":
		return 0, false // runs that have started are not changed
	case "Job":
		return number(value(o, "spec.parallelism"), 1), false
	}
	if templatePath(o.Key) == nil {
		return 0, false
	}
	if a, ok := t.autoscalerOf(o); ok && value(o, "spec.replicas") == nil {
		return a.min, false
	}
	return number(value(o, "spec.replicas"), 1), false
}

// number returns a whole number, or def for any other value.
func number(v any, def int) int {
	if n, ok := v.(int64); ok {
		return int(n)
	}
	return def
}
