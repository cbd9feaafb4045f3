package effect

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// maxVersions is the number of objects whose last version is in memory. Each has up to 3 KiB.
const maxVersions = 1024

// version is the state of an object on which the next write is based.
type version struct {
	resourceVersion string
	// received is the annotation with the receipts.
	received string
	// manager owns the fields that the Receiver has applied, or is "".
	manager string
}

// versionOf returns the version of an object for a Receiver.
func versionOf(object *unstructured.Unstructured, receiver string) version {
	v := version{resourceVersion: object.GetResourceVersion(), received: object.GetAnnotations()[v1alpha1.AnnotationReceived]}
	for _, fields := range object.GetManagedFields() {
		if applied(fields, receiver) {
			v.manager = fields.Manager
		}
	}
	return v
}

// versions remember the versions of objects that were written last. A write on top of a version that
// is too old is a conflict, so they save a read, and can't lose the receipts of others.
type versions struct {
	mu sync.Mutex
	of *lru.Cache
}

// take returns a version and forgets it.
func (v *versions) take(name string) (version, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		return version{}, false
	}
	known, ok := v.of.Get(name)
	if !ok {
		return version{}, false
	}
	v.of.Remove(name)
	return known.(version), true
}

// put remembers a version.
func (v *versions) put(name string, last version) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.of == nil {
		v.of = lru.New(maxVersions)
	}
	v.of.Add(name, last)
}
