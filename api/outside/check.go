package outside

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/api/action"
	"github.com/pequod-io/pequod/api/monitor"
	"github.com/pequod-io/pequod/api/receiver"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
)

// Check returns the problems of an Action, a Monitor or a Receiver for which pequod-actions would not
// execute it, and nothing about other objects. The object is decoded JSON, and the paths begin at it.
// Late references, and what depends on them, are accepted. So are values of wrong types, which the
// schema of the kind refuses.
func Check(object map[string]any) problem.List {
	if object["apiVersion"] != v1alpha1.GroupVersion.String() {
		return nil
	}
	var found problem.List
	switch object["kind"] {
	case "Action":
		// A late executor is one, too, so action.Check gets the object as it is.
		found = belowSpec(action.Check(action.Spec(object)))
		a, late := &v1alpha1.Action{}, latePaths(object)
		if decode(object, late, a) {
			found = append(found, without(late, belowSpec(action.Requests(&a.Spec)))...)
		}
	case "Monitor":
		m, late := &v1alpha1.Monitor{}, latePaths(object)
		if decode(object, late, m) {
			found = without(late, Problems(checkMonitor(&m.Spec, late)))
		}
	case "Receiver":
		r, late := &v1alpha1.Receiver{}, latePaths(object)
		if decode(object, late, r) {
			found = without(late, Problems(receiver.Check(&r.Spec)))
		}
	}
	for i := range found {
		found[i].Rule = problem.RuleSchema
	}
	return found
}

// belowSpec returns problems whose paths begin at the spec with paths that begin at the object.
func belowSpec(found problem.List) problem.List {
	for i := range found {
		found[i].Path = fieldpath.Concat("spec", found[i].Path)
	}
	return found
}

// checkMonitor returns the errors of a Monitor that has nothing at the paths in late.
func checkMonitor(spec *v1alpha1.MonitorSpec, late []reference.Path) error {
	if slices.ContainsFunc(late, func(p reference.Path) bool {
		return related(p.String(), "spec.probe") || related(p.String(), "spec.state")
	}) {
		return monitor.CheckPart(spec)
	}
	_, err := monitor.Compile(spec)
	return err
}

// latePaths returns the paths of the late references in an object.
func latePaths(object map[string]any) []reference.Path {
	var paths []reference.Path
	found := reference.Find(object)
	for _, f := range found.From {
		paths = append(paths, f.Path)
	}
	for _, g := range found.Generate {
		paths = append(paths, g.Path)
	}
	return paths
}

// decode decodes an object without what is at the paths in late. It returns false if a value has a
// wrong type.
func decode(object map[string]any, late []reference.Path, into any) bool {
	object = runtime.DeepCopyJSON(object)
	for _, path := range late {
		clearAt(object, path)
	}
	raw, err := json.Marshal(object)
	return err == nil && json.Unmarshal(raw, into) == nil
}

// clearAt sets the value at a path to null.
func clearAt(v any, path reference.Path) {
	switch v := v.(type) {
	case map[string]any:
		name, ok := path[0].(string)
		switch {
		case ok && len(path) == 1:
			v[name] = nil
		case ok:
			clearAt(v[name], path[1:])
		}
	case []any:
		i, ok := path[0].(int)
		switch {
		case ok && len(path) == 1:
			v[i] = nil
		case ok:
			clearAt(v[i], path[1:])
		}
	}
}

// without returns the problems that have nothing to do with the paths in late.
func without(late []reference.Path, found problem.List) problem.List {
	return slices.DeleteFunc(found, func(p problem.Problem) bool {
		return slices.ContainsFunc(late, func(path reference.Path) bool { return related(p.Path, path.String()) })
	})
}

// related reports whether one of two paths contains the other, or they are equal.
func related(a, b string) bool {
	in := func(outer, inner string) bool {
		rest, ok := strings.CutPrefix(inner, outer)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	}
	return in(a, b) || in(b, a)
}
