package receiver

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/reconciling"
	text "github.com/pequod-io/pequod/internal/source"
)

const (
	// maxDeadLetters is the number of messages in the status.
	maxDeadLetters = 10
	// maxTries is how often a status is written again because of a conflict.
	maxTries = 10
)

// bury records a message that is given up.
func (r *reconciler) bury(ctx context.Context, a *v1alpha1.Receiver, m source.Message, cause error) error {
	letter := v1alpha1.DeadLetter{
		At: metav1.NewTime(r.Now()), ID: text.OneLine(m.ID, 256), Digest: m.Digest, Message: text.OneLine(cause.Error(), maxMessage),
	}
	err := r.update(ctx, a, func(s *v1alpha1.ReceiverStatus) {
		s.DeadLetters = append([]v1alpha1.DeadLetter{letter}, s.DeadLetters...)
		s.DeadLetters = s.DeadLetters[:min(len(s.DeadLetters), maxDeadLetters)]
	})
	if err == nil {
		r.emit(a, "MessageBuried", "the message was given up: "+cause.Error())
	}
	return err
}

// update changes the stored status of a Receiver; a may be older. A deleted Receiver is no error.
func (r *reconciler) update(ctx context.Context, a *v1alpha1.Receiver, change func(*v1alpha1.ReceiverStatus)) error {
	for try := 0; ; try++ {
		stored := &v1alpha1.Receiver{}
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(a), stored); err != nil || stored.UID != a.UID {
			return client.IgnoreNotFound(err)
		}
		next := stored.DeepCopy()
		change(&next.Status)
		err := r.client.Status().Patch(ctx, next, client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.ActionsProgram))
		if !apierrors.IsConflict(err) || try == maxTries {
			return client.IgnoreNotFound(err)
		}
		select { // the cache shows the other change by then
		case <-time.After(reconciling.ConflictPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
