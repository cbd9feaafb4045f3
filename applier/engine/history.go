package engine

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/internal/resourceversion"
)

// Contradicts reports whether a list of the given version has an object in an older
// version than the known one, although the list is newer. That proves that the
// history of the cluster was rewritten, for example because etcd was restored: the
// observations of the engine are void.
func (e *Engine) Contradicts(version string, objects []unstructured.Unstructured) bool {
	return contradicts(version, objects, func(obj *unstructured.Unstructured) *facts {
		if o := e.cache.objects[e.keyOfObject(obj)]; o != nil {
			return &o.facts
		}
		return nil
	})
}

// Contradicts is [Engine.Contradicts] for a snapshot.
func (s *Snapshot) Contradicts(version string, objects []unstructured.Unstructured) bool {
	return contradicts(version, objects, func(obj *unstructured.Unstructured) *facts {
		if o := s.find(s.keyOf(obj)); o != nil {
			return &o.facts
		}
		return nil
	})
}

func contradicts(version string, objects []unstructured.Unstructured, known func(*unstructured.Unstructured) *facts) bool {
	for i := range objects {
		o := known(&objects[i])
		if o != nil && resourceversion.Older(objects[i].GetResourceVersion(), o.version) &&
			(version == o.version || resourceversion.Older(o.version, version)) {
			return true
		}
	}
	return false
}
