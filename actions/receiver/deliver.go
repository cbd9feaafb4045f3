package receiver

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/event"
)

// timeout limits the effects of one message.
const timeout = 25 * time.Second

// deliver performs the effects of a message, counts it, and writes an Event if they fail.
func (r *reconciler) deliver(ctx context.Context, a *v1alpha1.Receiver, m source.Message) error {
	began := r.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	result, err := r.effects.Perform(ctx, a, m)
	outcome := "done"
	switch {
	case err != nil:
		class := source.ClassOf(err)
		outcome = class.String()
		if class != source.Unavailable { // an Event couldn't be stored either
			r.emit(a, "Message"+map[source.Class]string{source.Failed: "Failed", source.Refused: "Refused", source.Outdated: "Outdated"}[class], err.Error())
		}
	case result.Changed == 0 && result.Repeated > 0:
		outcome = "repeated"
	case result.Changed == 0:
		outcome = "skipped"
	}
	r.Metrics.Delivered(a.Spec.Source.Name(), outcome, r.Now().Sub(began))
	return err
}

// settle delivers a message of a source that delivers it again unless it is done.
func (r *reconciler) settle(ctx context.Context, a *v1alpha1.Receiver, m source.Message) error {
	err := r.deliver(ctx, a, m)
	if err != nil && source.ClassOf(err) == source.Outdated {
		return nil
	}
	return err
}

// emit writes a Warning, unless there were too many about the Receiver.
func (r *reconciler) emit(a *v1alpha1.Receiver, reason, note string) {
	if !r.quiet.allow(a.UID) {
		return
	}
	about := event.About(v1alpha1.GroupVersion.WithKind("Receiver"), a)
	r.events.Eventf(about, nil, corev1.EventTypeWarning, reason, "Receive", "%s", event.Note(note))
}

// quiet limits the Events of each Receiver: a sender must not fill the cluster with them.
type quiet struct {
	mu sync.Mutex
	of *lru.Cache
}

func newQuiet() *quiet { return &quiet{of: lru.New(4096)} }

// allow reports whether an Event may be written: 5 at once, and then one in 10 seconds.
func (q *quiet) allow(uid types.UID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	value, ok := q.of.Get(uid)
	if !ok {
		value = rate.NewLimiter(rate.Every(10*time.Second), 5)
		q.of.Add(uid, value)
	}
	return value.(*rate.Limiter).Allow()
}
