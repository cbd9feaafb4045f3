package objectdiff

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/internal/problem"
)

// Live is the change that an apply would make to one live object. The caller
// finds it out with a dry run of the apply. Before and After are not changed.
//
// Before and After tell the action: without Before the object is added, without
// After it is removed or refused, and with both it is changed.
type Live struct {
	// Graph is the graph that owns the object, as namespace/name.
	Graph string
	// Before is the live object, or nil if it does not exist.
	Before *unstructured.Unstructured
	// After is the object after the apply. It is nil if the object is removed, or if
	// the apply would fail and the result is unknown.
	After *unstructured.Unstructured
	// Unknown lists the paths in After whose values are known only after the apply.
	Unknown []reference.Path
	// Manager is the field manager of the graph.
	Manager string
	// CorrectsDrift is set if the object was applied like this before, so that others
	// made every difference.
	CorrectsDrift bool
	// Recreated is set if the object is deleted and created again. After then lacks
	// the fields that the API server adds.
	Recreated bool
	// Leaving is set if the object left the graph.
	Leaving bool
	// Refusal is the reason why the apply would fail, or "".
	Refusal string
	// Warnings are printed with the object.
	Warnings problem.List
}

// CompareLive returns the changes that an apply would make. It ignores fields
// that the API server manages, such as status. An error is about an object
// without kind or name.
//
// Unlike [Compare], it does not warn of immutable fields: the dry run of the API server has
// checked the change, and its refusal is in Live.Refusal. [Diff.WarnSelectors] adds the
// warnings about selectors, which need all objects.
func CompareLive(objects []Live) (Diff, error) {
	var d Diff
	for i := range objects {
		o, err := objects[i].diff()
		if err != nil {
			return Diff{}, err
		}
		if o != nil {
			d.Objects = append(d.Objects, *o)
		}
	}
	slices.SortStableFunc(d.Objects, func(a, b ObjectDiff) int { return a.Key.Compare(b.Key) })
	return d, nil
}

// LiveSides returns the objects before and after an apply, those that don't change
// included. An object whose apply would fail stays as it is.
func LiveSides(objects []Live) (before, after []Object, err error) {
	for i := range objects {
		l := &objects[i]
		was, err := l.object(l.Before)
		if err != nil {
			return nil, nil, err
		}
		is, err := l.object(l.After)
		if err != nil {
			return nil, nil, err
		}
		if is == nil && !l.Leaving {
			is = was
		}
		if was != nil {
			before = append(before, *was)
		}
		if is != nil {
			after = append(after, *is)
		}
	}
	return before, after, nil
}

// diff returns the change of the object, or nil if there is none.
func (l *Live) diff() (*ObjectDiff, error) {
	before, err := l.object(l.Before)
	if err != nil {
		return nil, err
	}
	after, err := l.object(l.After)
	if err != nil {
		return nil, err
	}
	o := &ObjectDiff{Action: Modify, Refused: l.Refusal != "", Recreated: l.Recreated, old: before, new: after, Warnings: l.Warnings}
	switch {
	case before == nil && after == nil: // the object neither exists nor is known
		return nil, nil
	case before == nil:
		o.Action, o.Key = Add, after.Key
	case l.Leaving:
		o.Action, o.Key, o.new = Remove, before.Key, nil
		before.policy.orphaned = slices.ContainsFunc(l.Warnings, func(w problem.Problem) bool { return w.Rule == RuleOrphan })
		if len(l.Warnings) == 0 { // an object that is not deleted has a warning already
			warnRemoved(o)
		}
	// The object exists before and after, or the apply would fail.
	default:
		o.Key = before.Key
		if after != nil {
			o.Changes = l.changes(before, after)
			warnScaledToZero(o)
		}
		if len(o.Changes) == 0 && !o.Refused && !o.Recreated && len(o.Warnings) == 0 {
			return nil, nil
		}
		if after == nil { // refused: the printers need an object
			o.new = before
		}
	}
	if l.Refusal != "" {
		o.Warnings = append(o.Warnings, problem.Problem{Severity: problem.Warning, Rule: RuleRefused, Message: l.Refusal})
	}
	return o, nil
}

// object returns the Object of a live one, without the fields that the API server
// manages, or nil for nil.
func (l *Live) object(obj *unstructured.Unstructured) (*Object, error) {
	if obj == nil {
		return nil, nil
	}
	key, err := keyOf(obj.Object)
	if err != nil {
		return nil, err
	}
	// Only the maps that change are cloned; the objects belong to the caller.
	raw := maps.Clone(obj.Object)
	delete(raw, "status")
	metadata, _ := raw["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, name := range []string{
		"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds",
	} {
		delete(metadata, name)
	}
	raw["metadata"] = metadata
	body := normalize(key, raw, false)
	if obj == l.After {
		for _, path := range l.Unknown {
			setUnknown(body, path)
		}
	}
	replicas := fields.Path{"f:spec", "f:replicas"}
	entries := fields.Entries(obj)
	owns := func(e fields.Entry) bool { return e.Manager == l.Manager && e.Owns(replicas) }
	return &Object{Key: key, graph: l.Graph, body: body, foreignReplicas: len(entries) > 0 && !slices.ContainsFunc(entries, owns)}, nil
}

// setUnknown replaces the value at a path by one that is known after the apply. Maps
// that are missing on the path are created; a path that does not fit is ignored.
func setUnknown(body map[string]any, path reference.Path) {
	var at any = body
	for i, step := range path {
		last := i == len(path)-1
		switch step := step.(type) {
		case string:
			m, ok := at.(map[string]any)
			if !ok {
				return
			}
			if last {
				m[step] = late{hidden: true}
				return
			}
			if _, ok := m[step]; !ok {
				m[step] = map[string]any{}
			}
			at = m[step]
		case int:
			list, _ := at.([]any)
			if step >= len(list) {
				return
			}
			at = list[step]
		}
	}
}

// changes compares the object before and after, and attributes each change: to the
// field manager that owns the field now, if the graph does not own it. Fields of a
// recreated object that the graph does not own are left out, because the API server
// adds them again.
func (l *Live) changes(before, after *Object) []Change {
	var found []Change
	entries := fields.Entries(l.Before)
	for _, c := range changes(before, after) {
		path := managedPath(c.Path)
		// An Update by a controller or a user is the likelier cause than another Apply.
		own, other := false, ""
		for _, e := range entries {
			if path == nil || !e.Owns(path) {
				continue
			}
			if e.Manager == l.Manager {
				own = true
			} else if other == "" || e.Operation == "Update" {
				other = e.Manager
			}
		}
		switch {
		case l.Recreated && c.Action == Remove && !own:
			continue
		case c.Action == Add && l.CorrectsDrift: // the field was applied, and is gone
			c.By = others
		case c.Action != Add && !own && other != "":
			c.By = other
		}
		found = append(found, c)
	}
	return found
}

// others stands for the manager that removed a field: managedFields do not tell,
// because a removed field has no owner.
const others = "others"

// managedPath returns a path in the form of managedFields. Key values that look
// like numbers become numbers, as ports are. So spec.ports[port=80,protocol=TCP]
// becomes
//
//	f:spec  f:ports  k:{"port":80,"protocol":"TCP"}
//
// See FieldsV1 in k8s.io/apimachinery/pkg/apis/meta/v1 for the format.
func managedPath(p Path) fields.Path {
	out := make(fields.Path, 0, len(p))
	for _, step := range p {
		switch step := step.(type) {
		case string:
			out = append(out, "f:"+step)
		case int:
			out = append(out, "i:"+strconv.Itoa(step))
		case member:
			keys := map[string]any{}
			for i, name := range step.keys {
				keys[name] = step.values[i]
				if n, err := strconv.ParseInt(step.values[i], 10, 64); err == nil {
					keys[name] = n
				}
			}
			raw, err := json.Marshal(keys)
			if err != nil {
				return nil
			}
			out = append(out, "k:"+string(raw))
		}
	}
	return out
}
