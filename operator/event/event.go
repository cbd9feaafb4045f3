// Package event emits the Events of pequod-manager about Transforms, instances and InstanceSources.
//
// [Emit] is the entry point. It decides how an Event names its object; its callers decide when
// something is worth one.
package event

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/internal/fluxowner"
	"github.com/pequod-io/pequod/internal/source"
)

// maxNote is the number of bytes of an Event's note. The API server allows 1024.
const maxNote = 1000

// Emit emits an Event about an object of a kind. severity is Normal or Warning. A note that is too
// long is cut.
//
// The Event names the object without its resource version, so that Events about different versions
// are counted as one. Its related object is the object of Flux that has applied this one: for
// notifications, whose program may not read instances.
func Emit(to events.EventRecorder, kind schema.GroupVersionKind, object metav1.Object, severity, reason, action, note string) {
	about := &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()},
	}
	about.SetGroupVersionKind(kind)
	to.Eventf(about, fluxowner.Related(object.GetLabels()), severity, reason, action, "%s", source.OneLine(note, maxNote))
}
