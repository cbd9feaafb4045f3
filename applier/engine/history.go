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
	return contradicts(version, objects, func(obj *unstructured.Unstructured) (string, bool) {
		if o := e.cache.objects[e.keyOfObject(obj)]; o != nil {
			return o.version, true
		}
		return "", false
	})
}

// Contradicts is [Engine.Contradicts] for a snapshot.
func (s *Snapshot) Contradicts(version string, objects []unstructured.Unstructured) bool {
	return contradicts(version, objects, func(obj *unstructured.Unstructured) (string, bool) {
		if o := s.find(s.keyOf(obj)); o != nil {
			return o.version, true
		}
		return "", false
	})
}

// contradicts is Contradicts. Known returns the known version of an object, if there is
// one.
func contradicts(list string, objects []unstructured.Unstructured, known func(*unstructured.Unstructured) (string, bool)) bool {
	for i := range objects {
		version, ok := known(&objects[i])
		if ok && resourceversion.Older(objects[i].GetResourceVersion(), version) &&
			(list == version || resourceversion.Older(version, list)) {
			return true
		}
	}
	return false
}
