package localapply

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// expander writes into an object that is about to be applied what the API server would
// write into it, as far as the live object shows it.
type expander struct {
	schemas map[string]*spec.Schema
	// anyQuantity is set while strings without a type may be quantities.
	anyQuantity bool
}

// expand changes config, so that a merge with live replaces only what differs:
//
//   - Quantities get the notation in which the API server stores them: 500m for 0.5.
//   - Defaults of the API server inside of atomic lists and maps are added. A merge
//     replaces these as a whole, and would remove the defaults.
//   - Empty lists and maps that the API server dropped are dropped.
//
// Without a schema, every list is atomic, and all fields that only the live items
// have are taken for defaults.
func (e expander) expand(typ *spec.Schema, config, live *unstructured.Unstructured) {
	for name, want := range config.Object {
		e.anyQuantity = typ == nil && name == "spec" // and not in the data of a ConfigMap
		if is, ok := live.Object[name]; ok && name != "metadata" {
			config.Object[name] = e.value(property(e.resolve(typ), name), want, is, typ == nil, false)
		}
	}
}

// value returns want with the additions for the live value is. deduced is set if there
// is no schema of the object, and atomic inside of an atomic value.
func (e expander) value(typ *spec.Schema, want, is any, deduced, atomic bool) any {
	typ = e.resolve(typ)
	switch want := want.(type) {
	case map[string]any:
		if is, ok := is.(map[string]any); ok {
			return e.object(typ, want, is, deduced, atomic || extension(typ, "x-kubernetes-map-type") == "atomic")
		}
	case []any:
		if is, ok := is.([]any); ok {
			return e.list(typ, want, is, deduced, atomic)
		}
	default:
		if isQuantity(typ) {
			return canonical(want)
		}
		if _, isText := is.(string); isText && typ == nil && e.anyQuantity && reflect.DeepEqual(canonical(want), canonical(is)) {
			return is
		}
	}
	return want
}

// object returns a map with the additions for the live one.
func (e expander) object(typ *spec.Schema, want, is map[string]any, deduced, atomic bool) map[string]any {
	result := map[string]any{}
	for name, value := range want {
		live, ok := is[name]
		of := property(typ, name)
		switch {
		case ok:
			result[name] = e.value(of, value, live, deduced, atomic)
		case isQuantity(e.resolve(of)):
			result[name] = canonical(value)
		case !isDropped(e.resolve(of), value):
			result[name] = value
		}
	}
	if !atomic {
		return result
	}
	for name, live := range is {
		if _, ok := want[name]; !ok && (deduced || e.isDefault(property(typ, name), name, live) || isCopy(name, live, is)) {
			result[name] = live
		}
	}
	return result
}

// list returns a list with the additions for the items of the live one. Items of lists
// with keys are compared by their keys, and all others by their position; without a
// schema, by their name if all have one.
func (e expander) list(typ *spec.Schema, want, is []any, deduced, atomic bool) []any {
	var keys []string
	switch kind := extension(typ, "x-kubernetes-list-type"); {
	case deduced && named(want) && named(is):
		keys, atomic = []string{"name"}, true
	case kind == "map" && !atomic:
		keys = listKeys(typ)
	case kind == "set" && !atomic:
		return want
	default:
		atomic = true
	}
	var item *spec.Schema
	if typ != nil && typ.Items != nil {
		item = typ.Items.Schema
	}
	result := make([]any, len(want))
	for i, value := range want {
		result[i] = value
		if live, ok := e.counterpart(item, keys, i, value, is); ok {
			result[i] = e.value(item, value, live, deduced, atomic)
		}
	}
	return result
}

// counterpart returns the live item for an item of a list: that with the same keys, or
// without keys that at the same position. A key that is missing has its default.
func (e expander) counterpart(typ *spec.Schema, keys []string, i int, item any, is []any) (any, bool) {
	if len(keys) == 0 {
		if i < len(is) {
			return is[i], true
		}
		return nil, false
	}
	key := func(item any, name string) any {
		m, _ := item.(map[string]any)
		if v, ok := m[name]; ok {
			return v
		}
		if of := e.resolve(property(e.resolve(typ), name)); of != nil {
			return of.Default
		}
		return nil
	}
	for _, live := range is {
		if !slices.ContainsFunc(keys, func(name string) bool { return !reflect.DeepEqual(key(item, name), key(live, name)) }) {
			return live, true
		}
	}
	return nil, false
}

// goDefaults are the defaults inside of atomic values that the API server sets in Go
// code and doesn't publish. They are those of core, networking and rbac.
var goDefaults = map[string][]any{
	"apiGroup":   {"rbac.authorization.k8s.io", ""},
	"apiVersion": {"v1"},
	"divisor":    {"0"},
	"kind":       {"PersistentVolumeClaim"},
	"name":       {""},
	"protocol":   {"TCP"},
	"scope":      {"*"},
	"status":     {map[string]any{"phase": "Pending"}},
	"volumeMode": {"Filesystem"},

	"expirationSeconds": {int64(3600)},
	"selectPolicy":      {"Max"},
}

// isCopy reports whether a field of a LimitRange has the value of another one, which is
// its default.
func isCopy(name string, value any, fields map[string]any) bool {
	switch name {
	case "default":
		return reflect.DeepEqual(value, fields["max"])
	case "defaultRequest":
		return reflect.DeepEqual(value, fields["default"]) || reflect.DeepEqual(value, fields["min"])
	}
	return false
}

// isDefault reports whether value is the default of a field.
func (e expander) isDefault(typ *spec.Schema, name string, value any) bool {
	if typ != nil && typ.Default != nil && sameJSON(typ.Default, value) {
		return true
	}
	if of := e.resolve(typ); of != nil && of.Default != nil && sameJSON(of.Default, value) {
		return true
	}
	if slices.ContainsFunc(goDefaults[name], func(v any) bool { return reflect.DeepEqual(v, value) }) {
		return true
	}
	// Go writes structs without omitempty as empty objects and null.
	m, isMap := value.(map[string]any)
	return value == nil || isMap && len(m) == 0
}

// isDropped reports whether the API server stores nothing for value: a null, or an
// empty list or map of a built-in type.
func isDropped(typ *spec.Schema, value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case []any:
		return len(v) == 0 && typ != nil && typ.Items != nil
	case map[string]any:
		return len(v) == 0 && typ != nil && typ.AdditionalProperties != nil && len(typ.Properties) == 0
	}
	return false
}

// canonical returns a quantity as the API server stores it, and any other value as it
// is.
func canonical(v any) any {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case int64, float64:
		text = fmt.Sprint(v)
	default:
		return v
	}
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return v
	}
	return q.String()
}

// isQuantity reports whether a type is that of quantities, resolved by resolve.
func isQuantity(typ *spec.Schema) bool {
	return typ != nil && typ.ID == quantity
}

// quantity is the published name of the type of quantities.
const quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"

// resolve follows references. A reference with a default is wrapped in an allOf. The
// ID of a resolved type is the name of its last reference.
func (e expander) resolve(typ *spec.Schema) *spec.Schema {
	for range 10 {
		if typ == nil {
			return nil
		}
		if ref := typ.Ref.String(); ref != "" {
			name := ref[strings.LastIndex(ref, "/")+1:]
			next := e.schemas[name]
			if next == nil {
				return nil
			}
			named := *next
			named.ID = name
			typ = &named
			continue
		}
		if len(typ.AllOf) != 1 || len(typ.Properties) > 0 {
			return typ
		}
		typ = &typ.AllOf[0]
	}
	return nil
}

// property returns the type of a field, nil if it isn't known.
func property(typ *spec.Schema, name string) *spec.Schema {
	if typ == nil {
		return nil
	}
	if p, ok := typ.Properties[name]; ok {
		return &p
	}
	if typ.AdditionalProperties != nil {
		return typ.AdditionalProperties.Schema
	}
	return nil
}

// extension returns the text of an extension of a type, "" if it has none.
func extension(typ *spec.Schema, name string) string {
	if typ == nil {
		return ""
	}
	text, _ := typ.Extensions.GetString(name)
	return text
}

// listKeys returns the keys of the items of a list.
func listKeys(typ *spec.Schema) []string {
	keys, _ := typ.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
	return keys
}

// named reports whether all items of a list are objects with a name.
func named(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool {
		m, _ := item.(map[string]any)
		name, _ := m["name"].(string)
		return name == ""
	})
}

// sameJSON reports whether two values are equal in JSON, where 1 and 1.0 are.
func sameJSON(a, b any) bool {
	if n, ok := a.(float64); ok {
		if m, ok := b.(int64); ok {
			return n == float64(m)
		}
	}
	return reflect.DeepEqual(a, b)
}
