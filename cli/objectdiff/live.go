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

// Live is what would happen to one object of a cluster.
type Live struct {
	// Graph is the graph that the object belongs to, as namespace/name.
	Graph string
	// Before is the object as it is, nil if there is none.
	Before *unstructured.Unstructured
	// After is the object as it would be; nil if it is removed or, with a
	// Refusal, if that isn't known.
	After *unstructured.Unstructured
	// Unknown are the paths of After whose values are known after the apply.
	Unknown []reference.Path
	// Manager is the graph's field manager.
	Manager string
	// Corrects says that After is what was applied last: every difference was
	// made by others.
	Corrects bool
	// Replaces says that the object is deleted and made anew; of After it isn't
	// known what the API server adds.
	Replaces bool
	// Leaves says that the object left the graph.
	Leaves bool
	// Refusal is what the apply would fail of, "" if nothing.
	Refusal string
	// Notes are what else is to be said of the object.
	Notes problem.List
}

// CompareLive gives the differences that an apply would make. Fields that the
// API server keeps, such as the status, aren't compared.
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
	slices.SortStableFunc(d.Objects, func(a, b ObjectDiff) int { return a.Key.compare(b.Key) })
	return d, nil
}

func (l *Live) diff() (*ObjectDiff, error) {
	before, err := l.object(l.Before)
	if err != nil {
		return nil, err
	}
	after, err := l.object(l.After)
	if err != nil {
		return nil, err
	}
	o := &ObjectDiff{Action: Modify, Refused: l.Refusal != "", Replaced: l.Replaces, old: before, new: after, Warnings: l.Notes}
	switch {
	case before == nil && after == nil:
		return nil, nil
	case before == nil:
		o.Action, o.Key = Add, after.Key
	case l.Leaves:
		o.Action, o.Key, o.new = Remove, before.Key, nil
		if len(l.Notes) == 0 {
			removed(o) // what isn't deleted has a note that says so
		}
	default:
		o.Key = before.Key
		if after != nil {
			o.Changes = l.changes(before, after)
			scaled(o)
		}
		if len(o.Changes) == 0 && !o.Refused && !o.Replaced && len(o.Warnings) == 0 {
			return nil, nil
		}
		if after == nil {
			o.new = before
		}
	}
	if l.Refusal != "" {
		o.Warnings = append(o.Warnings, problem.Problem{Severity: problem.Warning, Rule: RuleRefused, Message: l.Refusal})
	}
	return o, nil
}

// object makes an object of a live one, without what the API server keeps.
func (l *Live) object(obj *unstructured.Unstructured) (*Object, error) {
	if obj == nil {
		return nil, nil
	}
	key, err := keyOf(obj.Object)
	if err != nil {
		return nil, err
	}
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
	body := prepare(key, raw, false)
	if obj == l.After {
		for _, path := range l.Unknown {
			setUnknown(body, path)
		}
	}
	return &Object{Key: key, graph: l.Graph, body: body}, nil
}

// setUnknown puts what is known after the apply in its place.
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

// changes compares the object as it is with what it would be, and finds out who
// made the differences.
func (l *Live) changes(before, after *Object) []Change {
	var found []Change
	entries := fields.Entries(l.Before)
	for _, c := range changes(before, after) {
		path := managedPath(c.Path)
		own, others := false, ""
		for _, e := range entries {
			if path == nil || !e.Owns(path) {
				continue
			}
			if e.Manager == l.Manager {
				own = true
			} else if others == "" || e.Operation == "Update" {
				others = e.Manager
			}
		}
		switch {
		case l.Replaces && c.Action == Remove && !own:
			continue // the API server adds it again
		case c.Action == Add && l.Corrects:
			c.By = somebody
		case c.Action != Add && !own && others != "":
			c.By = others
		}
		found = append(found, c)
	}
	return found
}

// somebody is who removed a field: nobody holds it, so nobody tells who it was.
const somebody = "others"

// managedPath writes a path as managedFields do, nil if it can't be.
func managedPath(p Path) fields.Path {
	out := make(fields.Path, 0, len(p))
	for _, step := range p {
		switch step := step.(type) {
		case string:
			out = append(out, "f:"+step)
		case int:
			out = append(out, "i:"+strconv.Itoa(step))
		case item:
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
