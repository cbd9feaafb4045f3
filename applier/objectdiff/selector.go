package objectdiff

import (
	"reflect"
	"slices"

	"github.com/pequod-io/pequod/internal/jsonvalue"
)

// warnSelectors warns of selectors that matched Pods of the old objects and match
// none of the new ones. Only the Pod templates of both sides are considered:
// other Pods in the cluster are unknown.
//
// A Service has its labels directly in spec.selector, a PodDisruptionBudget in
// matchLabels. matchExpressions are not evaluated. A selector that matched
// nothing before gets no warning.
func warnSelectors(o *ObjectDiff, before, after []Object) {
	switch {
	case o.is("", "Service"):
		warnSelector(o, jsonvalue.Field(o.old.body, "spec", "selector"), jsonvalue.Field(o.new.body, "spec", "selector"), before, after)
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
		}
	}
}

// warnSelector compares the workloads that the old and the new spec.selector match.
func warnSelector(o *ObjectDiff, oldSelector, newSelector any, before, after []Object) {
	// Without a selector, someone else fills in the endpoints of the Service.
	if reflect.DeepEqual(oldSelector, newSelector) || newSelector == nil {
		return
	}
	// match returns the first workload in the namespace whose Pods match.
	match := func(selector any, objects []Object) string {
		for i := range objects {
			w := &objects[i]
			if w.Namespace != o.Namespace {
				continue
			}
			for _, labels := range []any{
				jsonvalue.Field(w.body, "spec", "template", "metadata", "labels"),
				jsonvalue.Field(w.body, "spec", "jobTemplate", "spec", "template", "metadata", "labels"),
			} {
				if labels != nil && matches(selector, labels) {
					return w.String()
				}
			}
		}
		return ""
	}
	if workload := match(oldSelector, before); workload != "" && match(newSelector, after) == "" {
		o.warn(RuleSelector, "spec.selector", "no longer matches any Pods; it matched those of %s", workload)
	}
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
