// Package event emits Events of the programs in a cluster.
//
// [Emit] emits those of pequod-manager. The other programs decide by themselves which objects an Event names;
// [About] and [Note] give them the object and the text. Callers decide when something is worth an Event.
package event

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"

	"github.com/pequod-io/pequod/internal/fluxowner"
	"github.com/pequod-io/pequod/internal/source"
)

// Emit emits an Event about an object of a kind. severity is Normal or Warning. A note that is too
// long is cut.
//
// The related object of the Event is the object of Flux that has applied this one: for
// notifications, whose program may not read instances.
func Emit(to events.EventRecorder, kind schema.GroupVersionKind, object metav1.Object, severity, reason, action, note string) {
	to.Eventf(About(kind, object), fluxowner.Related(object.GetLabels()), severity, reason, action, "%s", Note(note))
}

// About returns an object of a kind as Events name it: without its resource version, so that Events
// about different versions are counted as one.
func About(kind schema.GroupVersionKind, object metav1.Object) *metav1.PartialObjectMetadata {
	about := &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()},
	}
	about.SetGroupVersionKind(kind)
	return about
}

// Note returns a text as the note of an Event: on one line, and cut to 1000 bytes. The API server
// allows 1024.
func Note(text string) string { return source.OneLine(text, 1000) }
