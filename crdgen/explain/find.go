package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/crdgen/openapi"
	"github.com/pequod-io/pequod/internal/source"
)

// maxNames bounds the names that an error lists.
const maxNames = 30

// Field is a field of a kind, or with an empty path the kind itself.
type Field struct {
	Kind openapi.Kind
	// Path are the names that lead to the field. Items of lists and values of maps have no
	// name of their own: the name of an item's field follows that of the list.
	Path []string
	// Schema is the schema of the field. It may be a reference; see [openapi.Kind.Resolve].
	Schema apiextensionsv1.JSONSchemaProps
	// Required reports whether an object that has the parent must have the field.
	Required bool
}

// Type returns the type of the field, such as map[string]string or []Object.
func (f Field) Type() string { return typeOf(f.Kind, f.Schema) }

// Fields returns the fields of the field, of its items and of its values, by name.
func (f Field) Fields() map[string]Field {
	all := map[string]Field{}
	for _, name := range names(f.Kind, f.Schema) {
		if in, err := Find(f.Kind, append(slices.Clone(f.Path), name)); err == nil {
			all[name] = in
		}
	}
	return all
}

// Parse returns the kind that arg begins with, and the names of the field in it. arg is a
// name of a kind, its group or nothing, and the names, separated by dots:
// webservice.spec.port or webservices.pequod.io.spec.port. apiVersion selects a version if
// it is not empty; otherwise it is the first one of the kind in kinds.
func Parse(kinds []openapi.Kind, arg, apiVersion string) (openapi.Kind, []string, error) {
	found, path, err := named(kinds, arg)
	if err != nil {
		return openapi.Kind{}, nil, err
	}
	if apiVersion == "" {
		return found[0], path, nil
	}
	var served []string
	for _, k := range found {
		if k.APIVersion() == apiVersion {
			return k, path, nil
		}
		served = append(served, k.APIVersion())
	}
	return openapi.Kind{}, nil, fmt.Errorf("no %s in %s; there are: %s", found[0].Kind, apiVersion, strings.Join(served, ", "))
}

// named returns the versions of the kind that arg begins with, and the names after it.
func named(kinds []openapi.Kind, arg string) ([]openapi.Kind, []string, error) {
	name, rest, _ := strings.Cut(arg, ".")
	// Longer groups win, so that the group a.b is not taken for the group a with a field b.
	var found []openapi.Kind
	group := ""
	for _, k := range kinds {
		if !k.Is(name) {
			continue
		}
		with := ""
		if rest == k.Group || strings.HasPrefix(rest, k.Group+".") {
			with = k.Group
		}
		if len(with) > len(group) {
			found, group = nil, with
		}
		if len(with) == len(group) {
			found = append(found, k)
		}
	}
	if len(found) == 0 {
		return nil, nil, unknownKind(kinds, name)
	}
	var groups []string
	for _, k := range found {
		if full := k.Kind + "." + k.Group; !slices.Contains(groups, full) {
			groups = append(groups, full)
		}
	}
	if len(groups) > 1 {
		return nil, nil, fmt.Errorf("%q is the name of several kinds: %s", name, strings.Join(groups, ", "))
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, group), ".")
	if rest == "" {
		return found, nil, nil
	}
	return found, strings.Split(rest, "."), nil
}

// unknownKind returns the error for a name that no kind has.
func unknownKind(kinds []openapi.Kind, name string) error {
	var names, all []string
	for _, k := range kinds {
		names = append(names, strings.ToLower(k.Kind), k.Plural)
		names = append(names, k.ShortNames...)
		all = append(all, strings.ToLower(k.Kind))
	}
	return fmt.Errorf("no kind %q; %s", name, nearest(strings.ToLower(name), names, all))
}

// nearest returns the hint for a wrong name: a similar one of names, and the list of all.
func nearest(name string, names, all []string) string {
	all = slices.Compact(slices.Sorted(slices.Values(all)))
	if len(all) == 0 {
		return "it has no fields"
	}
	list := "there are: " + strings.Join(all[:min(len(all), maxNames)], ", ")
	if len(all) > maxNames {
		list += fmt.Sprintf(" and %d more", len(all)-maxNames)
	}
	if hint := source.Hint(name, names); hint != "" {
		return hint + " " + list
	}
	return list
}

// Find returns the field of a kind at a path. The error of an unknown field names similar
// ones, or where in the kind a field of that name is.
func Find(k openapi.Kind, path []string) (Field, error) {
	f := Field{Kind: k, Schema: k.Schema}
	for i, name := range path {
		in, ok := holder(k, f.Schema, name)
		if !ok {
			return Field{}, unknownField(k, path[:i], f.Schema, name)
		}
		f = Field{Kind: k, Path: path[:i+1], Schema: in.Properties[name], Required: slices.Contains(in.Required, name)}
	}
	return f, nil
}

// holder returns the schema that has the field: s, or the one of its items or values.
func holder(k openapi.Kind, s apiextensionsv1.JSONSchemaProps, name string) (apiextensionsv1.JSONSchemaProps, bool) {
	s = k.Resolve(s)
	if _, ok := s.Properties[name]; ok {
		return s, true
	}
	for _, in := range inside(s) {
		if found, ok := holder(k, in, name); ok {
			return found, true
		}
	}
	return s, false
}

// names returns the names of the fields of s, of its items and values, in no order.
func names(k openapi.Kind, s apiextensionsv1.JSONSchemaProps) []string {
	s = k.Resolve(s)
	all := slices.Collect(maps.Keys(s.Properties))
	for _, in := range inside(s) {
		all = append(all, names(k, in)...)
	}
	return all
}

// unknownField returns the error for a name that s, at path, has no field of.
func unknownField(k openapi.Kind, path []string, s apiextensionsv1.JSONSchemaProps, name string) error {
	parent := strings.Join(append([]string{strings.ToLower(k.Kind)}, path...), ".")
	known := names(k, s)
	hint := nearest(name, known, known)
	if source.Hint(name, known) == "" {
		if elsewhere := search(k, k.Schema, name, strings.ToLower(k.Kind)); len(elsewhere) > 0 {
			hint = fmt.Sprintf("did you mean %s? %s", strings.Join(elsewhere[:min(len(elsewhere), 3)], " or "), hint)
		}
	}
	return fmt.Errorf("field %q does not exist in %s; %s", name, parent, hint)
}

// search returns the paths of all fields with a name, in order. The metadata of
// Kubernetes is left out: its names are those of many fields.
func search(k openapi.Kind, s apiextensionsv1.JSONSchemaProps, name, at string) []string {
	if s.Ref != nil {
		return nil
	}
	var found []string
	for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
		if field == name {
			found = append(found, at+"."+field)
		}
		found = append(found, search(k, s.Properties[field], name, at+"."+field)...)
	}
	for _, in := range inside(s) {
		found = append(found, search(k, in, name, at)...)
	}
	return found
}
