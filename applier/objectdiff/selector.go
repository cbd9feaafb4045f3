package objectdiff

import (
	"reflect"
	"slices"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// warnSelectors warns of selectors that matched Pods of the old objects and match none of
// the new ones, and of Services whose new selector no Pod matches that runs now. Only the
// Pod templates of both sides are considered: other Pods in the cluster are unknown.
//
// A Service has its labels directly in spec.selector, a PodDisruptionBudget in
// matchLabels. matchExpressions are not evaluated. A selector that matched
// nothing before gets no warning.
func warnSelectors(o *ObjectDiff, before, after []Object) {
	switch {
	case o.is("", "Service"):
		warnSelector(o, serviceSelector(o.old), serviceSelector(o.new), before, after)
	case o.is("policy", "PodDisruptionBudget"):
		warnSelector(o, jsonvalue.Field(o.old.body, "spec", "selector", "matchLabels"),
			jsonvalue.Field(o.new.body, "spec", "selector", "matchLabels"), before, after)
	case o.is("", "ReplicationController") && slices.ContainsFunc(o.Changes, func(c Change) bool { return c.Path.under("spec.selector") }):
		o.warn(RuleSelector, "spec.selector", "Pods that only the old selector matches are left behind")
	case o.is("apps", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"):
		labels := jsonvalue.Field(o.new.body, "spec", "template", "metadata", "labels")
		selector := jsonvalue.Field(o.new.body, "spec", "selector", "matchLabels")
		if selector != nil && !matches(selector, labels) && matches(jsonvalue.Field(o.old.body, "spec", "selector", "matchLabels"),
			jsonvalue.Field(o.old.body, "spec", "template", "metadata", "labels")) {
			o.warn(RuleSelector, "spec.template.metadata.labels", "don't match spec.selector: the API server refuses it")
			return
		}
		warnServices(o, before, after)
	}
}

// WarnSelectors adds the warnings about selectors to a diff of [CompareLive], as [Compare]
// does. before and after are those of [LiveSides]: a Service and its workload need not change
// both. The dry run of the API server doesn't compare one object with another.
func (d *Diff) WarnSelectors(before, after []Object) {
	for i := range d.Objects {
		switch o := &d.Objects[i]; {
		case o.Refused || o.old == nil:
		case o.new != nil:
			warnSelectors(o, before, after)
		case podLabels(o.old) != nil:
			warnServices(o, before, after)
		}
	}
}

// warnSelector compares the workloads that the old and the new spec.selector match.
func warnSelector(o *ObjectDiff, oldSelector, newSelector any, before, after []Object) {
	// Without a selector, someone else fills in the endpoints of the Service.
	if reflect.DeepEqual(oldSelector, newSelector) || newSelector == nil {
		return
	}
	old := selected(oldSelector, o.Namespace, before)
	if old == nil {
		return
	}
	switch now := selected(newSelector, o.Namespace, after); {
	case now == nil:
		o.warn(RuleSelector, "spec.selector", "no longer matches any Pods; it matched those of %s", old)
	case o.is("", "Service") && selected(newSelector, o.Namespace, before) == nil:
		o.warn(RuleSelector, "spec.selector", "matches no Pods that run now: the Service has no endpoints until new Pods of %s are ready", now)
	case o.is("", "Service"):
		if w := awaited(o, oldSelector, before, after); w != nil {
			o.warn(RuleSelector, "spec.selector", "changes only when %s is ready, which replaces all Pods that the old selector matches: the Service has no endpoints until then", w)
		}
	}
}

// awaited returns a workload that the node of a Service depends on, and whose new Pods the old
// selector of the Service doesn't match. The Service keeps the old selector until the workload
// is ready. It returns nil if other Pods match that selector meanwhile.
func awaited(o *ObjectDiff, oldSelector any, before, after []Object) *Object {
	if o.new.graph == "" || selected(oldSelector, o.Namespace, after) != nil {
		return nil
	}
	for i := range before {
		if w := &before[i]; w.graph == o.new.graph && w.Namespace == o.Namespace && selects(oldSelector, w) && dependsOn(o.new, w.Key, after) {
			return w
		}
	}
	return nil
}

// dependsOn reports whether the node of an object is applied after that of another one in the
// same graph, because it depends on it, directly or not.
func dependsOn(o *Object, other Key, after []Object) bool {
	nodes := map[any]*Object{}
	for i := range after {
		if after[i].graph == o.graph {
			nodes[after[i].node["id"]] = &after[i]
		}
	}
	seen := map[*Object]bool{}
	queue := []*Object{o}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if at == nil || seen[at] {
			continue
		}
		seen[at] = true
		if at.Key == other {
			return true
		}
		needs, _ := at.node["dependencies"].([]any)
		for _, id := range needs {
			queue = append(queue, nodes[id])
		}
	}
	return false
}

// warnServices warns of Services that keep their selector, and lose the Pods of a workload
// because the labels of its Pods change or because it is removed.
func warnServices(o *ObjectDiff, before, after []Object) {
	if o.new != nil && reflect.DeepEqual(podLabels(o.old), podLabels(o.new)) || o.new == nil && o.old.Stays() {
		return
	}
	for i := range after {
		s := &after[i]
		if s.Group != "" || s.Kind != "Service" || s.Namespace != o.Namespace {
			continue
		}
		selector := serviceSelector(s)
		if !selects(selector, o.old) || selected(selector, s.Namespace, after) != nil {
			continue
		}
		same := func(b Object) bool { return b.Key == s.Key && reflect.DeepEqual(serviceSelector(&b), selector) }
		switch {
		case !slices.ContainsFunc(before, same):
		case o.new == nil:
			o.warn(RuleSelector, "", "%s stays, and has no endpoints without it", s)
		default:
			o.warn(RuleSelector, "spec.template.metadata.labels", "no longer match the selector of %s, which loses its endpoints", s)
		}
	}
}

func serviceSelector(s *Object) any { return jsonvalue.Field(s.body, "spec", "selector") }

// selected returns the first workload of a namespace whose Pods match a selector, or nil.
func selected(selector any, namespace string, objects []Object) *Object {
	for i := range objects {
		if w := &objects[i]; w.Namespace == namespace && selects(selector, w) {
			return w
		}
	}
	return nil
}

// selects reports whether the Pods of a workload match a selector.
func selects(selector any, w *Object) bool {
	labels := podLabels(w)
	return labels != nil && matches(selector, labels)
}

// podLabels returns the labels in the Pod template of a workload, or nil.
func podLabels(w *Object) any {
	if w.is("batch", "CronJob") {
		return jsonvalue.Field(w.body, "spec", "jobTemplate", "spec", "template", "metadata", "labels")
	}
	return jsonvalue.Field(w.body, "spec", "template", "metadata", "labels")
}

// matches reports whether labels have every label of a selector. An empty
// selector matches nothing, as in a Service. Values that are known only after an
// apply are compared by their expressions.
func matches(selector, labels any) bool {
	want, _ := selector.(map[string]any)
	have, _ := labels.(map[string]any)
	for k, v := range want {
		if !reflect.DeepEqual(v, have[k]) {
			return false
		}
	}
	return len(want) > 0
}
