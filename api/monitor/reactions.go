package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// checkReaction returns the errors of a reaction that the CRD can't find.
func checkReaction(target *v1alpha1.MonitorTarget, do v1alpha1.MonitorReaction) []error {
	each := target != nil && target.Pods != nil && target.Pods.Read != v1alpha1.MonitorAnyReady
	pods := target != nil && (target.Pods != nil || target.Service != nil)
	var found []error
	add := func(text string) { found = append(found, errors.New(do.Name()+": "+text)) }
	switch {
	case do.Name() == "":
		return []error{errors.New("exactly one reaction is required")}
	case do.RestartPods != nil && !pods:
		add("the target has no Pods")
	case do.RestartPods != nil && do.RestartPods.Which != "All" && !each:
		add("which: All is required, unless target.pods reads Each")
	case do.Exec != nil && !each:
		add("requires that target.pods reads Each")
	case do.Exec != nil:
		found = append(found, duration("exec.timeout", do.Exec.Timeout)...)
	case do.Patch != nil:
		if err := checkPatch(do.Patch.Patch.Raw); err != nil {
			add(err.Error())
		}
	case do.HTTP != nil:
		found = append(found, duration("http.timeout", do.HTTP.Timeout)...)
		if body := string(do.HTTP.Body); body != "" {
			if err := expression.Check(expression.Rule(), body); err != nil {
				found = append(found, fmt.Errorf("http.body: %w", err))
			}
		}
	}
	return found
}

// checkPatch returns why fields can't be applied, or nil.
func checkPatch(raw []byte) error {
	var patch map[string]any
	if err := json.Unmarshal(raw, &patch); err != nil {
		return errors.New("patch must be an object")
	}
	for _, name := range []string{"apiVersion", "kind", "status"} {
		if _, ok := patch[name]; ok {
			return errors.New("patch can't have " + name)
		}
	}
	metadata, _ := patch["metadata"].(map[string]any) // the API server refuses another type
	for name := range metadata {
		if name != "labels" && name != "annotations" {
			return errors.New("patch can't have metadata." + name)
		}
	}
	return nil
}

// durations returns the errors of the durations of a Monitor.
func durations(m *v1alpha1.MonitorSpec) []error {
	found := append(duration("spec.interval", m.Interval), duration("spec.timeout", m.Timeout)...)
	for i, r := range m.Rules {
		at := fmt.Sprintf("spec.rules[%d] (%s): ", i, r.Name)
		found = append(found, duration(at+"for", r.For)...)
		found = append(found, duration(at+"cooldown", r.Cooldown)...)
		if r.Limit != nil {
			found = append(found, duration(at+"limit.per", r.Limit.Per)...)
		}
	}
	return found
}

// duration returns the error of a duration, if it is set.
func duration(field string, d v1alpha1.Duration) []error {
	if d == "" {
		return nil
	}
	if v, err := time.ParseDuration(string(d)); err != nil || v < 0 {
		return []error{fmt.Errorf("%s: %q is not a duration such as 90s", field, d)}
	}
	return nil
}
