package forecast

import (
	"maps"
	"slices"

	"github.com/pequod-io/pequod/applier/objectdiff"
)

// storedVersionRemoved reports whether a CustomResourceDefinition loses a version that
// objects were stored in.
func (s *subject) storedVersionRemoved() bool {
	versions := func(o *objectdiff.Object, stored bool) []string {
		found := map[string]bool{}
		for _, v := range list(value(o, "spec.versions")) {
			if name, _ := v["name"].(string); !stored || v["storage"] == true {
				found[name] = true
			}
		}
		return slices.Collect(maps.Keys(found))
	}
	left := versions(s.diff.New(), false)
	return slices.ContainsFunc(versions(s.diff.Old(), true), func(name string) bool { return !slices.Contains(left, name) })
}

// class returns the StorageClass of a claim, as the new side has it or, if it is
// removed, the old one. It returns nil if no manifest has it.
func (s *subject) class() *objectdiff.Object {
	claim := s.diff.New()
	if claim == nil {
		claim = s.diff.Old()
	}
	key := objectdiff.Key{Group: "storage.k8s.io", Kind: "StorageClass", Name: text(claim, "spec.storageClassName"), Cluster: claim.Cluster}
	if found := s.sides.after.all[key]; found != nil {
		return found
	}
	return s.sides.before.all[key]
}

// volumeKept reports whether the manifests tell that the volume of a claim outlives the
// claim: the reclaim policy of its volume or of its class is Retain.
func (s *subject) volumeKept() bool {
	if name := text(s.diff.Old(), "spec.volumeName"); name != "" {
		key := objectdiff.Key{Kind: "PersistentVolume", Name: name, Cluster: s.diff.Old().Cluster}
		if volume := s.sides.before.all[key]; volume != nil {
			policy := text(volume, "spec.persistentVolumeReclaimPolicy")
			return policy == "Retain" || policy == "" // the default of volumes
		}
	}
	class := s.class()
	return class != nil && text(class, "reclaimPolicy") == "Retain"
}

// growth reports whether the class of a claim allows its volume to grow. It isn't known
// if no manifest has the class.
func (s *subject) growth() (allowed, known bool) {
	class := s.class()
	if class == nil {
		return false, false
	}
	return value(class, "allowVolumeExpansion") == true, true
}
