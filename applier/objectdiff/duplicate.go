package objectdiff

import (
	"maps"
	"slices"
)

// mergeKeys returns the keys by which a server-side apply identifies the members of a list of
// a built-in kind, or nil: listMapKey in k8s.io/api. Only lists are in it that people write
// with two equal members by mistake.
func mergeKeys(kind, list string) []string {
	switch list {
	case "env", "containers", "initContainers", "volumes", "imagePullSecrets":
		return []string{"name"}
	case "volumeMounts":
		return []string{"mountPath"}
	case "volumeDevices":
		return []string{"devicePath"}
	case "hostAliases":
		return []string{"ip"}
	case "topologySpreadConstraints":
		return []string{"topologyKey", "whenUnsatisfiable"}
	case "ports":
		if kind == "Service" {
			return []string{"port", "protocol"}
		}
		return []string{"containerPort", "protocol"}
	}
	return nil
}

// warnDuplicates warns of lists with two members that a server-side apply can't tell apart.
func warnDuplicates(o *ObjectDiff) {
	if hasQuantities(o.Key) { // its lists are those of the built-in kinds
		o.duplicates(nil, o.new.body)
	}
}

// duplicates warns of the lists below a value.
func (o *ObjectDiff) duplicates(p Path, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			o.duplicates(p.with(k), v[k])
		}
	case []any:
		keys := mergeKeys(o.Kind, p.last())
		seen := map[string]bool{}
		for i, item := range v {
			if found, ok := members(keys, []any{item}); ok && keys != nil {
				id := found[0].String()
				if seen[id] {
					o.warn(RuleRefused, p.String(), "duplicate members %s: every server-side apply is refused; remove one of them", id)
				}
				seen[id] = true
			}
			o.duplicates(p.with(i), item)
		}
	}
}
