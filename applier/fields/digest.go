package fields

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Digest returns a digest of a JSON value: the first 16 bytes of its SHA-256, as
// 22 characters of unpadded URL-safe base64. Equal values have equal digests
// regardless of the order of their map keys.
//
// Digests are stored in inventories, so their form must not change.
func Digest(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	sum := sha256.Sum256(raw)
	return base64.RawURLEncoding.EncodeToString(sum[:16]), nil
}

// OwnedDigest returns a digest of the fields that a manager applied to an object
// and still owns, with their values. Fields at or below the ignored paths are
// left out. The digest is "" if the manager applied nothing.
//
// A manager that changes a field becomes its owner, so a change of any of the
// fields changes the digest, even if a forced apply sets the same value.
func OwnedDigest(obj *unstructured.Unstructured, manager string, ignore []Path) (string, error) {
	var digests []string // one for each API version that the manager applied
	for _, entry := range Entries(obj) {
		if !entry.AppliedBy(manager) {
			continue
		}
		set := entry.Fields
		if len(ignore) > 0 {
			set = runtime.DeepCopyJSON(set)
			for _, path := range ignore {
				set.remove(path, obj.Object)
			}
		}
		digest, err := Digest(project(set, obj.Object))
		if err != nil {
			return "", err
		}
		digests = append(digests, digest)
	}
	switch len(digests) {
	case 0:
		return "", nil
	case 1:
		return digests[0], nil
	}
	// The order of entries isn't guaranteed.
	slices.Sort(digests)
	return Digest(digests)
}

// project returns the part of a live value that a set names, as a tree with the
// keys of the set. A key without children stands for the whole value, "." for
// the fact that the value exists. A field that the live value lacks is null.
func project(set Set, live any) any {
	if len(set) == 0 {
		return live
	}
	projected := make(map[string]any, len(set))
	for key := range set {
		if key == selfKey {
			projected[key] = live != nil
			continue
		}
		value, ok := child(key, live)
		if !ok {
			projected[key] = nil
			continue
		}
		projected[key] = project(set.below(key), value)
	}
	return projected
}
