package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review/forecast"
)

// Count returns how often a condition is met: in objects, or for Policy and Breaking also in
// instances and inputs. 0 means that it isn't met.
func (r *Report) Count(c Condition) int {
	n := 0
	for i := range r.Instances {
		for k := range r.Instances[i].Objects {
			if r.Instances[i].Objects[k].meets(c) {
				n++
			}
		}
	}
	for _, u := range r.Unknown {
		if u.Sides != Head {
			continue
		}
		if u.Violates() && c == Policy || !u.Violates() && c == Breaking {
			n += max(1, len(u.Instances))
		}
	}
	if c == Breaking {
		for _, in := range r.Inputs {
			n += len(in.Breaking)
		}
	}
	return n
}

// meets reports whether an object meets a condition.
func (o *Object) meets(c Condition) bool {
	if c == Removals && o.Action == objectdiff.Remove && !o.stays() {
		return true
	}
	if slices.ContainsFunc(o.Warnings, func(w problem.Problem) bool { return slices.Contains(conditionsOf(w.Rule), c) }) {
		return true
	}
	return slices.ContainsFunc(o.Consequences, func(q forecast.Consequence) bool {
		return (!o.endsAlone(q) || o.endsPods(q)) && (slices.Contains(conditionsOf(string(q.Effect)), c) || c == Restarts && q.Effect.Restarts())
	})
}

// stays reports whether a removed object stays in the cluster.
func (o *Object) stays() bool {
	return slices.ContainsFunc(o.Warnings, func(w problem.Problem) bool { return w.Rule == objectdiff.RuleOrphan && w.Path == "" })
}

// Verdict is the first line of a report:
//
//	1 to add, 3 to change, 0 to remove · 2 rolling restarts · 1 load balancer address lost
func (r *Report) Verdict() string {
	parts := []string{fmt.Sprintf("%d to add, %d to change, %d to remove", r.Plan.Add, r.Plan.Change, r.Plan.Remove)}
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(r.Plan.Refused, "refused", "refused")
	effects := r.Effects()
	add(effects[forecast.Refused]-r.Plan.Refused, "refused unless recreated", "refused unless recreated")
	addresses, volumes, others := r.lost()
	add(addresses, "load balancer address lost", "load balancer addresses lost")
	add(volumes, "volume lost", "volumes lost")
	add(others, "other loss", "other losses")
	add(effects[forecast.Unreachable], "Service without endpoints", "Services without endpoints")
	add(effects[forecast.Recreate], "recreation with downtime", "recreations with downtime")
	add(effects[forecast.Stopped], "stop", "stops")
	add(effects[forecast.RollingRestart], "rolling restart", "rolling restarts")
	add(effects[forecast.Autoscaler], "fight with an autoscaler", "fights with autoscalers")
	add(effects[forecast.Quota], "quota exceeded", "quotas exceeded")
	needed := r.needed()
	add(needed, "removed object that Pods need", "removed objects that Pods need")
	add(effects[forecast.Unnoticed]-needed, "change that Pods don't notice", "changes that Pods don't notice")
	add(r.drifted(), "drifted object", "drifted objects")
	breaking := 0
	for _, in := range r.Inputs {
		breaking += len(in.Breaking)
	}
	add(breaking, "breaking change of a definition", "breaking changes of definitions")
	switch {
	case r.Stale == nil:
	case r.Stale.Error != "":
		parts = append(parts, "committed output can't be read")
	default:
		parts = append(parts, "committed output is stale")
	}
	if n := r.Counts.Unknown; n > 0 {
		parts = append(parts, source.Count(n, "instance")+" unknown")
	}
	return strings.Join(parts, " · ")
}

// lost counts the objects whose change loses something: the address of a load balancer, the
// data of a volume, or something else, such as everything in a namespace.
func (r *Report) lost() (addresses, volumes, others int) {
	for i := range r.Instances {
		for k := range r.Instances[i].Objects {
			o := &r.Instances[i].Objects[k]
			switch {
			case !o.effects()[forecast.Lost]:
			case o.losesAddress():
				addresses++
			case o.Group == "" && (o.Kind == "PersistentVolumeClaim" || o.Kind == "PersistentVolume"), o.Group == "apps" && o.Kind == "StatefulSet":
				volumes++
			default:
				others++
			}
		}
	}
	return addresses, volumes, others
}

// needed counts the removed objects without which Pods can't start again. Running Pods don't
// notice the removal, so these are also in the count of [forecast.Unnoticed].
func (r *Report) needed() int {
	n := 0
	for i := range r.Instances {
		for k := range r.Instances[i].Objects {
			if slices.ContainsFunc(r.Instances[i].Objects[k].Consequences, forecast.Consequence.PreventsStart) {
				n++
			}
		}
	}
	return n
}

// losesAddress reports whether the object is a Service that loses the address of its load
// balancer. Other Services only lose ports or an address in the cluster.
func (o *Object) losesAddress() bool {
	if o.Group != "" || o.Kind != "Service" || o.Old() == nil || o.Old().Field("spec", "type") != "LoadBalancer" {
		return false
	}
	lost := func(path string) bool { return !strings.HasPrefix(path, "spec.ports") }
	return slices.ContainsFunc(o.Warnings, func(w problem.Problem) bool { return w.Rule == objectdiff.RuleLoss && lost(w.Path) }) ||
		slices.ContainsFunc(o.Consequences, func(c forecast.Consequence) bool { return c.Effect == forecast.Lost && lost(c.Path) })
}

// Effects counts the objects per effect. An object counts once for each of its effects.
// Warnings of data loss and of refusals count as the effects that they are.
func (r *Report) Effects() map[forecast.Effect]int {
	counts := map[forecast.Effect]int{}
	for i := range r.Instances {
		for k := range r.Instances[i].Objects {
			for e, has := range r.Instances[i].Objects[k].effects() {
				if has {
					counts[e]++
				}
			}
		}
	}
	return counts
}

// effects returns the set of the effects of an object.
func (o *Object) effects() map[forecast.Effect]bool {
	set := map[forecast.Effect]bool{}
	if o.Refused {
		set[forecast.Refused] = true // and nothing else happens
		return set
	}
	for _, c := range o.Consequences {
		if !o.endsAlone(c) || o.endsPods(c) {
			set[c.Effect] = true
		}
	}
	for _, w := range o.Warnings {
		switch w.Rule {
		case objectdiff.RuleLoss:
			set[forecast.Lost] = true
		case objectdiff.RuleImmutable:
			// The warning about an object that is deleted and created again is no refusal.
			if !set[forecast.Recreate] {
				set[forecast.Refused] = true
			}
		}
	}
	return set
}

// NoChanges returns a sentence for a report without changes, or "".
func (r *Report) NoChanges() string {
	if !r.Empty() || r.Live != nil && len(r.Live.Others) > 0 {
		return ""
	}
	return "No changes."
}

// Empty reports whether nothing changes, everything is known, and nothing is stale.
func (r *Report) Empty() bool {
	return len(r.Instances)+len(r.Inputs)+len(r.Unknown) == 0 && r.Stale == nil
}
