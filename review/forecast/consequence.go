package forecast

import (
	"cmp"
	"slices"
	"strconv"
)

// Effect names the effect of a change in the cluster.
type Effect string

// The effects, from the mildest to the most severe.
const (
	// None is a change of the object alone.
	None Effect = "none"
	// InPlace takes effect without a restart.
	InPlace Effect = "in-place"
	// Unknown depends on a controller that the rules don't know.
	Unknown Effect = "unknown"
	// Unnoticed is a change that running Pods don't notice until they restart.
	Unnoticed Effect = "unnoticed"
	// Quota exceeds a ResourceQuota of the same tree.
	Quota Effect = "quota"
	// Autoscaler is a change that an autoscaler of the same tree undoes.
	Autoscaler Effect = "autoscaler"
	// RollingRestart replaces Pods while others serve.
	RollingRestart Effect = "rolling-restart"
	// Stopped ends Pods or an address in the cluster, and nothing takes their place.
	Stopped Effect = "stopped"
	// Recreate ends all Pods before new ones are ready: there is a downtime.
	Recreate Effect = "recreate"
	// Unreachable leaves a Service without endpoints.
	Unreachable Effect = "unreachable"
	// Refused is a change that the API server refuses until the object is recreated.
	Refused Effect = "refused"
	// Lost is a loss of data or of an address.
	Lost Effect = "lost"
)

// Effects returns all effects, from the mildest to the most severe.
func Effects() []Effect {
	return []Effect{None, InPlace, Unknown, Unnoticed, Quota, Autoscaler, RollingRestart, Stopped, Recreate, Unreachable, Refused, Lost}
}

// Severity orders effects; a higher one is more severe. It is -1 for an unknown text.
func (e Effect) Severity() int { return slices.Index(Effects(), e) }

// Title returns the effect as reports print it.
func (e Effect) Title() string {
	switch e {
	case None:
		return "none in the cluster"
	case InPlace:
		return "in place"
	case Unknown:
		return "unknown"
	case Unnoticed:
		return "not noticed by running Pods"
	case Quota:
		return "quota exceeded"
	case Autoscaler:
		return "fights an autoscaler"
	case RollingRestart:
		return "rolling restart"
	case Recreate:
		return "recreate with downtime"
	case Unreachable:
		return "Service without endpoints"
	case Refused:
		return "refused unless recreated"
	case Lost:
		return "address or data lost"
	}
	return string(e)
}

// Consequence is one effect of the change of an object.
type Consequence struct {
	Effect Effect `json:"effect"`
	// Path is the first changed field that has the effect. It is empty for the whole
	// object.
	Path string `json:"path,omitempty"`
	// Pods is the number of Pods that the effect concerns, as the manifests have it.
	Pods int `json:"pods,omitempty"`
	// AllNodes is set if the effect concerns one Pod on each node.
	AllNodes bool `json:"allNodes,omitempty"`
	// Reason explains the effect. It may contain names from the manifests.
	Reason string `json:"reason"`
	// Rule identifies the row of docs/consequences.md.
	Rule string `json:"rule"`
}

// String returns the consequence on one line: rolling restart of 3 Pods: the Pod
// template changes.
func (c Consequence) String() string { return c.Title() + ": " + c.Reason }

// Title returns the effect with its Pods: rolling restart of 3 Pods.
func (c Consequence) Title() string {
	pods := ""
	switch {
	case c.AllNodes:
		pods = "the Pods on all nodes"
	case c.Pods == 1:
		pods = "1 Pod"
	case c.Pods > 1:
		pods = strconv.Itoa(c.Pods) + " Pods"
	}
	switch {
	case c.Effect == InPlace && c.Path == "": // rules about whole objects are about their removal
		return "no restart"
	case c.PreventsStart():
		return "Pods can't start"
	case c.Effect == Unnoticed && pods != "":
		return "not noticed by " + pods
	case c.Effect == Recreate && pods != "":
		return "recreate of " + pods + " with downtime"
	case c.Effect == Stopped && pods != "":
		return "end of " + pods
	case c.Effect == RollingRestart && pods != "":
		return "rolling restart of " + pods
	}
	return c.Effect.Title()
}

// PreventsStart reports whether Pods can't start any more, because an object that they need is
// removed. Those that run keep running.
func (c Consequence) PreventsStart() bool {
	return c.Effect == Unnoticed && c.Path == "" && c.Pods == 0 && !c.AllNodes
}

// Restarts reports whether Pods end.
func (e Effect) Restarts() bool { return e == RollingRestart || e == Stopped || e == Recreate }

// compare orders consequences of one object, the most severe first.
func (c Consequence) compare(d Consequence) int {
	return cmp.Or(cmp.Compare(d.Effect.Severity(), c.Effect.Severity()), cmp.Compare(c.Path, d.Path), cmp.Compare(c.Rule, d.Rule))
}
