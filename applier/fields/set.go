package fields

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Set is a set of fields: FieldsV1 as decoded JSON. Each key is a key of a
// [Path] and leads to the Set of the fields below it.
//
// The tree holds more than leaves. A key with an empty value is a field that
// belongs to the set as a whole. A key with children belongs to the set only if
// "." is one of the children: the owner of {"f:labels":{".":{},"f:app":{}}} owns
// the label app and also that there is a map of labels.
type Set map[string]any

// selfKey says within a Set that the parent itself belongs to the set.
const selfKey = "."

// below returns the Set under a key. A value that isn't a map is treated as empty.
func (s Set) below(key string) Set {
	m, _ := s[key].(map[string]any)
	return m
}

// hasSelf reports whether a Set, taken as a node below the root, stands for a
// field that itself belongs to the set.
func (s Set) hasSelf() bool {
	_, self := s[selfKey]
	return self || len(s) == 0
}

// isLeaf reports whether no field below a node belongs to the set.
func (s Set) isLeaf() bool {
	_, self := s[selfKey]
	return len(s) == 0 || self && len(s) == 1
}

// union returns the fields that are in s, in other, or in both. The result may
// share nodes with both; neither is changed.
func (s Set) union(other Set) Set {
	united := maps.Clone(s)
	if united == nil {
		united = Set{}
	}
	for key := range other {
		if _, ok := s[key]; !ok || key == selfKey {
			united[key] = other[key]
			continue
		}
		a, b := s.below(key), other.below(key)
		node := a.union(b)
		if len(node) > 0 && (a.hasSelf() || b.hasSelf()) {
			node[selfKey] = map[string]any{}
		}
		united[key] = map[string]any(node)
	}
	return united
}

// difference returns the fields that are in s and not in other. A field above or
// below a field of other stays. Neither set is changed.
func (s Set) difference(other Set) Set {
	left := Set{}
	for key := range s {
		if key == selfKey {
			continue
		}
		if _, ok := other[key]; !ok {
			left[key] = s[key]
			continue
		}
		a, b := s.below(key), other.below(key)
		node := a.difference(b)
		switch self := a.hasSelf() && !b.hasSelf(); {
		case self && len(node) > 0:
			node[selfKey] = map[string]any{}
		case !self && len(node) == 0:
			continue
		}
		left[key] = map[string]any(node)
	}
	return left
}

// leaves yields the paths of the fields that have no field of the set below
// them, in the order of their keys.
func (s Set) leaves() iter.Seq[Path] {
	return func(yield func(Path) bool) { s.yieldLeaves(nil, yield) }
}

// yieldLeaves yields the leaves of s, which is at path. It reports whether the
// iteration goes on.
func (s Set) yieldLeaves(path Path, yield func(Path) bool) bool {
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if key == selfKey {
			continue
		}
		at := append(slices.Clone(path), key)
		if node := s.below(key); node.isLeaf() {
			if !yield(at) {
				return false
			}
		} else if !node.yieldLeaves(at, yield) {
			return false
		}
	}
	return true
}

// contains reports whether the field at a path belongs to the set, as a whole or
// in part. live is the object that the set describes: it resolves the indexes and
// partial identities that authors write to the keys of the set.
func (s Set) contains(path Path, live any) bool {
	set := s
	for _, key := range path {
		key, ok := set.resolve(key, live)
		if !ok {
			return false
		}
		below := set.below(key)
		if len(below) == 0 {
			return true // the set has the field above the path as a whole
		}
		set = below
		live, _ = child(key, live)
	}
	return true
}

// remove removes the field at a path, and everything below it, from the set. It
// then removes the nodes above that are left empty, so that the result doesn't
// depend on whether the field was in the set. live is the value that the set
// describes.
func (s Set) remove(path Path, live any) {
	if len(path) == 0 {
		return
	}
	key, ok := s.resolve(path[0], live)
	if !ok {
		return
	}
	if len(path) == 1 {
		delete(s, key)
		return
	}
	below := s.below(key)
	if len(below) == 0 {
		return // the set has the field above the path as a whole
	}
	value, _ := child(key, live)
	below.remove(path[1:], value)
	if below.isLeaf() {
		delete(s, key)
	}
}

// resolve returns the key of the set that names the same field or list item as a
// key of an authored path, and false if the set has none. Authors may name an
// item by its index, by a field that doesn't identify it, or by some of its
// identifying fields: [containerPort=80] for a port that is identified by
// containerPort and protocol. live is the value that the set describes.
func (s Set) resolve(key string, live any) (string, bool) {
	if _, ok := s[key]; ok {
		return key, true
	}
	if name, ok := fieldName(key, live); ok {
		_, ok = s["f:"+name]
		return "f:" + name, ok
	}
	value, found := child(key, live)
	wanted, isIdentity := identityOf(key)
	if !found && !isIdentity {
		return "", false
	}
	for k := range s {
		switch keyKind(k) {
		case "k":
			identity, ok := identityOf(k)
			if !ok {
				continue
			}
			// Compare with the live item. If it is gone, the authored fields
			// are all there is to compare with.
			item, isMap := value.(map[string]any)
			if found && isMap && hasIdentity(item, identity) || !found && hasIdentity(identity, wanted) {
				return k, true
			}
		case "v":
			var v any
			if found && json.Unmarshal([]byte(strings.TrimPrefix(k, "v:")), &v) == nil && sameScalar(v, value) {
				return k, true
			}
		}
	}
	return "", false
}
