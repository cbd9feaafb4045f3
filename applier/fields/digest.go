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

// Digest is a short digest of a JSON value: 22 characters, the same for equal
// values whatever the order of their keys.
func Digest(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("digest: %w", err)
	}
	sum := sha256.Sum256(raw)
	return base64.RawURLEncoding.EncodeToString(sum[:16]), nil
}

// OwnedDigest is a digest of the fields that a manager applied to an object, with
// their values; without those at or below the ignored paths. It is "" where the
// manager applied nothing. A field that somebody changed belongs to them from
// then on, so that a change of any of the fields is a change of the digest.
func OwnedDigest(obj *unstructured.Unstructured, manager string, ignore []Path) (string, error) {
	var digests []string // one for each API version that it was applied with
	for _, entry := range Entries(obj) {
		if !entry.Applied(manager) {
			continue
		}
		set := entry.Fields
		if len(ignore) > 0 {
			set = runtime.DeepCopyJSON(set)
			for _, path := range ignore {
				remove(set, path, obj.Object)
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
	slices.Sort(digests)
	return Digest(digests)
}
