package forecast

import (
	"cmp"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// autoscaler sets the replicas of a workload.
type autoscaler struct {
	object objectdiff.Key
	target objectdiff.Key
	min    int
}

// autoscalerOf returns the autoscaler that an object is: a HorizontalPodAutoscaler or a
// ScaledObject of KEDA.
func autoscalerOf(o *objectdiff.Object) (autoscaler, bool) {
	a := autoscaler{object: o.Key, target: objectdiff.Key{
		Cluster: o.Cluster, Namespace: o.Namespace, Kind: text(o, "spec.scaleTargetRef.kind"), Name: text(o, "spec.scaleTargetRef.name"),
	}}
	group, _, _ := strings.Cut(text(o, "spec.scaleTargetRef.apiVersion"), "/")
	switch {
	case o.Group == "autoscaling" && o.Kind == "HorizontalPodAutoscaler":
		a.min = number(value(o, "spec.minReplicas"), 1)
	case o.Group == "keda.sh" && o.Kind == "ScaledObject":
		// See ScaleTarget in apis/keda/v1alpha1/scaledobject_types.go of KEDA.
		a.min = number(value(o, "spec.minReplicaCount"), 0)
		a.target.Kind, group = cmp.Or(a.target.Kind, "Deployment"), cmp.Or(group, "apps")
	default:
		return a, false
	}
	if group != "v1" { // the core group has only a version
		a.target.Group = group
	}
	return a, true
}

// autoscalerOf returns the autoscaler of a workload.
func (t tree) autoscalerOf(o *objectdiff.Object) (autoscaler, bool) {
	a, ok := t.autoscalers[o.Key]
	return a, ok
}
