package consequences

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// namespaceMark stands for the namespace of a measurement in names and values.
const namespaceMark = "$NS"

// file is one file of testdata/cases.
type file struct {
	// Base are the objects of every case in the file.
	Base []map[string]any `json:"base"`
	// Pods is the number of Pods to wait for before the change, if no workload says it.
	Pods  int    `json:"pods"`
	Cases []Case `json:"cases"`
}

// Case is one change of an object, with the other objects that matter for it.
type Case struct {
	// Name is unique. It begins with the name of the file.
	Name string `json:"name"`
	// Object is the one that changes, as Kind/name. The default is the first one of
	// the base.
	Object string `json:"object"`
	// With are more objects of both sides.
	With []map[string]any `json:"with"`
	// Setup are fields of the object that differ from the base on both sides. A path
	// has dots between keys and indexes of lists, and null removes the field.
	Setup map[string]any `json:"setup"`
	// Later are fields of both sides that are set after the Pods of the case run.
	Later map[string]any `json:"later"`
	// Set are the changed fields, as in Setup.
	Set map[string]any `json:"set"`
	// Remove removes the object, and Add adds objects.
	Remove bool             `json:"remove"`
	Add    []map[string]any `json:"add"`
	// Seconds is how long to wait at least for effects.
	Seconds int `json:"seconds"`
	// Quick is set for cases that `make test` measures.
	Quick bool `json:"quick"`

	file *file
}

// Cases reads all cases, sorted by name.
func Cases(dir string) ([]Case, error) {
	names, err := filepath.Glob(filepath.Join(dir, "cases", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f := &file{}
		if err := decode(data, f); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, c := range f.Cases {
			c.file = f
			c.Name = strings.TrimSuffix(filepath.Base(name), ".yaml") + "/" + c.Name
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
	for i := range all[1:] {
		if all[i].Name == all[i+1].Name {
			return nil, fmt.Errorf("%s: two cases have this name", all[i].Name)
		}
	}
	return all, nil
}

// decode reads YAML into v, with whole numbers as int64. Unknown fields are an error.
func decode(data []byte, v any) error {
	raw, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Sides are the manifests of a case.
type Sides struct {
	// First are the objects as they are created. They differ from Before by Later.
	First, Before, After []map[string]any
}

// Sides returns the manifests of the case for a namespace.
func (c Case) Sides(namespace string) (Sides, error) {
	var s Sides
	for _, o := range append(slices.Clone(c.file.Base), c.With...) {
		if !c.is(o) {
			same, err := c.with(o, namespace)
			if err != nil {
				return s, err
			}
			s.First, s.Before, s.After = append(s.First, same), append(s.Before, same), append(s.After, same)
			continue
		}
		first, err := c.with(o, namespace, c.Setup)
		if err != nil {
			return s, err
		}
		before, err := c.with(o, namespace, c.Setup, c.Later)
		if err != nil {
			return s, err
		}
		s.First, s.Before = append(s.First, first), append(s.Before, before)
		if c.Remove {
			continue
		}
		after, err := c.with(o, namespace, c.Setup, c.Later, c.Set)
		if err != nil {
			return s, err
		}
		s.After = append(s.After, after)
	}
	for _, o := range c.Add {
		added, err := c.with(o, namespace)
		if err != nil {
			return s, err
		}
		s.After = append(s.After, added)
	}
	return s, nil
}

// with returns a copy of an object for a namespace with fields set.
func (c Case) with(o map[string]any, namespace string, fields ...map[string]any) (map[string]any, error) {
	copied, err := clone(o, namespace)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		set, err := clone(f, namespace)
		if err != nil {
			return nil, err
		}
		if err := setAll(copied, set); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return copied, nil
}

// is reports whether an object of the case is the one that changes.
func (c Case) is(o map[string]any) bool {
	if c.Object == "" && !c.Remove && c.Set == nil {
		return false // it only adds objects
	}
	if c.Object == "" {
		return o["metadata"].(map[string]any)["name"] == c.file.Base[0]["metadata"].(map[string]any)["name"] &&
			o["kind"] == c.file.Base[0]["kind"]
	}
	return fmt.Sprint(o["kind"], "/", o["metadata"].(map[string]any)["name"]) == c.Object
}

// clone copies a value of a case, with whole numbers as int64 and the namespace in
// place of its mark.
func clone(o map[string]any, namespace string) (map[string]any, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	var copied map[string]any
	err = utiljson.Unmarshal(bytes.ReplaceAll(raw, []byte(namespaceMark), []byte(namespace)), &copied)
	return copied, err
}

// setAll sets fields of an object, in the order of their paths.
func setAll(o map[string]any, fields map[string]any) error {
	for _, path := range slices.Sorted(maps.Keys(fields)) {
		if err := setField(o, strings.Split(path, "."), fields[path]); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// setField sets one field; nil removes it. A list grows by the index after its last.
func setField(o any, path []string, v any) error {
	m, ok := o.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: not in a map", path[0])
	}
	key := path[0]
	if len(path) == 1 {
		if m[key] = v; v == nil {
			delete(m, key)
		}
		return nil
	}
	list, ok := m[key].([]any)
	if !ok {
		if m[key] == nil {
			m[key] = map[string]any{}
		}
		return setField(m[key], path[1:], v)
	}
	i, err := strconv.Atoi(path[1])
	if err != nil || i > len(list) {
		return fmt.Errorf("%s: no index of %s", path[1], key)
	}
	if len(path) > 2 {
		return setField(list[i], path[2:], v)
	}
	switch {
	case i == len(list):
		m[key] = append(list, v)
	case v == nil:
		m[key] = slices.Delete(list, i, i+1)
	default:
		list[i] = v
	}
	return nil
}

// Objects returns both sides as package objectdiff reads them. Objects of namespaced
// kinds get a namespace, as an apply gives it to them.
func (c Case) Objects() (before, after []objectdiff.Object, err error) {
	s, err := c.Sides("test")
	if err != nil {
		return nil, nil, err
	}
	if before, err = objects(s.Before); err != nil {
		return nil, nil, err
	}
	after, err = objects(s.After)
	return before, after, err
}

func objects(manifests []map[string]any) ([]objectdiff.Object, error) {
	var all []objectdiff.Object
	for _, m := range manifests {
		metadata := m["metadata"].(map[string]any)
		if metadata["namespace"] == nil {
			metadata["namespace"] = "test"
		}
		found, err := objectdiff.FromManifest(m, "")
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
