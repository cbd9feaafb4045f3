package objectdiff

import (
	"fmt"
	"slices"
)

// selected warns of selectors that no longer find the Pods of their side.
func selected(o *ObjectDiff, after, before []Object) {
	switch {
	case o.is("", "Service"):
		lost(o, "spec.selector", get(o.old.body, "spec", "selector"), get(o.new.body, "spec", "selector"), after, before)
	case o.is("policy", "PodDisruptionBudget"):
		lost(o, "spec.selector", get(o.old.body, "spec", "selector", "matchLabels"),
			get(o.new.body, "spec", "selector", "matchLabels"), after, before)
	case o.is("", "ReplicationController") && slices.ContainsFunc(o.Changes, func(c Change) bool { return c.Path.under("spec.selector") }):
		o.warn(RuleSelector, "spec.selector", "Pods that the old selector found are left behind")
	case o.is("apps", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"):
		labels := get(o.new.body, "spec", "template", "metadata", "labels")
		selector := get(o.new.body, "spec", "selector", "matchLabels")
		if selector != nil && !selects(selector, labels) && selects(get(o.old.body, "spec", "selector", "matchLabels"),
			get(o.old.body, "spec", "template", "metadata", "labels")) {
			o.warn(RuleSelector, "spec.template.metadata.labels", "don't match spec.selector: the API server refuses it")
		}
	}
}

func lost(o *ObjectDiff, path string, was, is any, after, before []Object) {
	if equal(was, is) || is == nil {
		return
	}
	found := func(selector any, objects []Object) string {
		for i := range objects {
			w := &objects[i]
			if w.Namespace != o.Namespace {
				continue
			}
			for _, labels := range []any{
				get(w.body, "spec", "template", "metadata", "labels"),
				get(w.body, "spec", "jobTemplate", "spec", "template", "metadata", "labels"),
			} {
				if labels != nil && selects(selector, labels) {
					return w.String()
				}
			}
		}
		return ""
	}
	if workload := found(was, before); workload != "" && found(is, after) == "" {
		o.warn(RuleSelector, path, "%s", fmt.Sprintf("finds no Pods any more; those of %s were found", workload))
	}
}

// selects says whether labels have everything that a map selector asks for. An
// empty selector of a Service finds nothing.
func selects(selector, labels any) bool {
	want, _ := selector.(map[string]any)
	have, _ := labels.(map[string]any)
	for k, v := range want {
		if !equal(v, have[k]) {
			return false
		}
	}
	return len(want) > 0
}
