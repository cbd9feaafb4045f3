package forecast

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// usage has the use of the resources of a quota, by their names in
// spec.hard.
type usage map[string]resource.Quantity

// add adds n times a quantity.
func (u usage) add(name string, q resource.Quantity, n int) {
	sum := u[name]
	for range n {
		sum.Add(q)
	}
	u[name] = sum
}

// use returns what an object uses. extra is a number of Pods in addition to those of
// its manifest.
func (t tree) use(o *objectdiff.Object, extra int) usage {
	u := usage{}
	one := resource.MustParse("1")
	plural := plural(o.Kind)
	counted := "count/" + plural
	if o.Group != "" {
		counted += "." + o.Group
	}
	u.add(counted, one, 1)
	switch {
	case o.Group != "":
	case o.Kind == "Service":
		u.add("services", one, 1)
		if kind := text(o, "spec.type"); kind == "LoadBalancer" {
			u.add("services.loadbalancers", one, 1)
		}
	case o.Kind == "PersistentVolumeClaim":
		u.add(plural, one, 1)
		if q, ok := quantity("", value(o, "spec.resources.requests.storage")); ok {
			u.add("requests.storage", q, 1)
		}
	case o.Kind == "ConfigMap", o.Kind == "Secret":
		u.add(plural, one, 1)
	}
	if spec := podSpec(o); spec != nil {
		n, onNodes := t.count(o)
		if onNodes {
			n = 1 // at least
		}
		u.add("pods", one, n+extra)
		for name, q := range t.podUse(spec, o.Namespace) {
			u.add(name, q, n+extra)
		}
	}
	return u
}

// plural returns the name of a kind in URLs, for kinds that are built into Kubernetes.
func plural(kind string) string {
	name := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	case strings.HasSuffix(name, "s"):
		return name + "es"
	}
	return name + "s"
}

// podUse returns the requests and limits of one Pod: the sum of its containers, or the
// largest init container if that has more.
func (t tree) podUse(spec map[string]any, namespace string) usage {
	sum := usage{}
	for _, c := range list(spec["containers"]) {
		for name, q := range t.containerUse(c, namespace) {
			sum.add(name, q, 1)
		}
	}
	for _, c := range list(spec["initContainers"]) {
		for name, q := range t.containerUse(c, namespace) {
			have := sum[name]
			switch {
			case c["restartPolicy"] == "Always":
				sum.add(name, q, 1)
			case q.Cmp(have) > 0:
				sum[name] = q
			}
		}
	}
	return sum
}

// containerUse returns the requests and limits of a container, with the defaults of the
// LimitRanges of its namespace.
func (t tree) containerUse(container map[string]any, namespace string) usage {
	u := usage{}
	set := func(values any, names ...string) {
		m, _ := values.(map[string]any)
		for name, v := range m {
			q, ok := quantity("", v)
			if !ok {
				continue
			}
			for _, prefix := range names {
				if _, given := u[prefix+name]; !given {
					u[prefix+name] = q
				}
			}
		}
	}
	resources, _ := container["resources"].(map[string]any)
	set(resources["requests"], "requests.", "")
	set(resources["limits"], "limits.", "requests.", "")
	for _, o := range t.namespaces[namespace] {
		if o.Kind != "LimitRange" || o.Group != "" {
			continue
		}
		for _, limit := range list(value(o, "spec.limits")) {
			if limit["type"] == "Container" {
				set(limit["defaultRequest"], "requests.", "")
				set(limit["default"], "limits.", "requests.", "")
			}
		}
	}
	return u
}

// exceedsQuota reports whether the objects of the new side use more than a quota of
// their namespace allows, and the object is the quota or uses more than before.
func (s *subject) exceedsQuota() (detail, bool) {
	o := s.diff.New()
	if o == nil {
		return detail{}, false
	}
	for _, q := range s.sides.after.quotas[o.Namespace] {
		hard, _ := value(q, "spec.hard").(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(hard)) {
			limit, ok := quantity("", hard[name])
			if !ok {
				continue
			}
			mine := s.grows(name)
			if q.Key != o.Key && !mine {
				continue
			}
			total := s.total(q, name)
			if total.Cmp(limit) > 0 {
				return detail{text: fmt.Sprintf("%s of %s: %s of %s", name, q.Key, &total, &limit)}, true
			}
		}
		if name := s.requestsNothing(hard); name != "" {
			return detail{text: fmt.Sprintf("%s must be set, because %s limits it", name, q.Key)}, true
		}
	}
	return detail{}, false
}

// total returns how much of a resource of a quota is used after the change: by all objects
// of the new side, or if a cluster counts the use, as much as it counts with the difference
// that the change makes.
func (s *subject) total(q *objectdiff.Object, name string) resource.Quantity {
	var total resource.Quantity
	for _, other := range s.sides.after.namespaces[q.Namespace] {
		total.Add(s.sides.after.use(other, s.surge(other))[name])
	}
	if s.sides.live == nil {
		return total
	}
	counted, ok := quantity("", s.sides.live.used[q.Key][name])
	if !ok {
		return total
	}
	for _, other := range s.sides.before.namespaces[q.Namespace] {
		total.Sub(s.sides.before.use(other, 0)[name])
	}
	total.Add(counted)
	return total
}

// grows reports whether the object uses more of a resource than before, or creates new
// Pods that use it.
func (s *subject) grows(name string) bool {
	now := s.sides.after.use(s.diff.New(), s.surge(s.diff.New()))[name]
	if s.diff.Old() == nil {
		return !now.IsZero()
	}
	was := s.sides.before.use(s.diff.Old(), 0)[name]
	return now.Cmp(was) > 0
}

// surge returns the number of Pods that the rollout of a Deployment adds before it can
// end any. It is 0 for a workload that isn't rolled out.
func (s *subject) surge(o *objectdiff.Object) int {
	change := s.sides.changed[o.Key]
	if o.Group != "apps" || o.Kind != "Deployment" || change == nil || change.Old() == nil || change.New() == nil || !s.sides.restarts(o) ||
		text(o, "spec.strategy.type") == "Recreate" {
		return 0
	}
	n, _ := s.sides.after.count(o)
	of := &subject{sides: s.sides, diff: change}
	if unavailable, surge := of.fenceposts(n); unavailable == 0 {
		return surge
	}
	return 0
}

// requestsNothing returns a resource of Pods that a quota limits and a container of the
// object doesn't set, or "". The quota refuses such Pods.
func (s *subject) requestsNothing(hard map[string]any) string {
	spec := podSpec(s.diff.New())
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		if name != "cpu" && name != "memory" && !strings.HasPrefix(name, "limits.") && !strings.HasPrefix(name, "requests.") || name == "requests.storage" {
			continue
		}
		for _, c := range list(spec["containers"]) {
			if _, ok := s.sides.after.containerUse(c, s.diff.Namespace)[name]; !ok {
				return name
			}
		}
	}
	return ""
}
