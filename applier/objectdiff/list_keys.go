package objectdiff

import (
	"strconv"
	"strings"
)

// keysOfLists has, by the name of a list, the sets of keys that may identify its members,
// the best first. A set is used if every member has all its keys and no two members
// have the same values.
//
// The keys are the merge keys of k8s.io/api (patchMergeKey and listMapKey), with the
// exceptions noted here; a test compares them with the source. The keys of "" are
// those that APIs commonly use, for all other lists.
var keysOfLists = map[string][][]string{
	"": {{"name"}, {"id"}, {"key"}, {"type"}},
	// The merge key is the number, but people identify ports by name and change the
	// number.
	"ports":                     {{"name"}, {"containerPort", "protocol"}, {"port", "protocol"}},
	"volumeMounts":              {{"mountPath"}},
	"volumeDevices":             {{"devicePath"}},
	"hostAliases":               {{"ip"}},
	"podIPs":                    {{"ip"}},
	"hostIPs":                   {{"ip"}},
	"topologySpreadConstraints": {{"topologyKey"}, {"topologyKey", "whenUnsatisfiable"}},
	"conditions":                {{"type"}},
	"addresses":                 {{"type"}},
	"ownerReferences":           {{"uid"}},
	"volumeClaimTemplates":      {{"metadata.name"}},
	"subjects":                  {{"kind", "namespace", "name"}},
	"rules":                     {{"host"}}, // of an Ingress; the rules of a Role have no host
	"paths":                     {{"path"}},
	"readinessGates":            {{"conditionType"}},
}

// listKeys returns the sets of keys for a list.
func listKeys(list string) [][]string {
	if sets, ok := keysOfLists[list]; ok {
		return sets
	}
	return keysOfLists[""]
}

// defaultKeyValue returns the value of an optional key that a member does not
// set. It is the default of the API server for ports, and "" for subjects without
// a namespace, such as users.
func defaultKeyValue(key string) (string, bool) {
	value, ok := map[string]string{"protocol": "TCP", "namespace": ""}[key]
	return value, ok
}

// keyed identifies the members of both lists by the same keys. It reports false
// if no set of keys fits all members of both. list is the name of the field. x
// and y are parallel to a and b.
//
// For ports without names, for example, {"name"} does not fit, and the ports are
// identified as [containerPort=80,protocol=TCP].
func keyed(list string, a, b []any) (x, y []member, ok bool) {
	for _, keys := range listKeys(list) {
		x, ok = members(keys, a)
		if !ok {
			continue
		}
		if y, ok = members(keys, b); ok {
			return x, y, true
		}
	}
	return nil, nil, false
}

// members identifies the members of a list by keys. It reports false if a member is
// not a map, lacks a key, or has the same values as another member.
func members(keys []string, list []any) ([]member, bool) {
	var found []member
	seen := map[string]bool{}
	for _, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		id := member{keys: keys}
		for _, key := range keys {
			v, ok := keyValue(m, key)
			if !ok {
				return nil, false
			}
			id.values = append(id.values, v)
		}
		if seen[id.String()] {
			return nil, false
		}
		seen[id.String()] = true
		found = append(found, id)
	}
	return found, true
}

// keyValue returns the value of a key as text. The key may be a path with dots. It
// reports false if the value is missing or is neither a string nor a number.
func keyValue(m map[string]any, key string) (string, bool) {
	var v any = m
	for k := range strings.SplitSeq(key, ".") {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case nil:
		return defaultKeyValue(key)
	}
	return "", false
}
