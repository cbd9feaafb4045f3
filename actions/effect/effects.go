package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/receiver"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// fieldManager owns the annotations that request reconciliations.
const fieldManager = "pequod-receiver"

// Accounts acts as service accounts.
type Accounts interface {
	// Dynamic returns a client that acts as a service account.
	Dynamic(namespace, account string) (dynamic.Interface, error)
}

// Effects performs the effects of messages. It is safe for concurrent use.
type Effects struct {
	Accounts Accounts
	// Mapper finds the resources of kinds.
	Mapper meta.RESTMapper
	Kinds  Kinds
	Now    func() time.Time

	locks    locks
	lists    batches[listing]
	requests batches[request]
	versions versions
}

// Result counts the effects of a message.
type Result struct {
	// Changed is the number of objects that were changed, and Repeated of those that had been
	// changed before.
	Changed, Repeated int
}

// Check returns why a Receiver can't have effects, or nil: the errors of [receiver.Check], and
// those of kinds that the flags don't allow.
func (e *Effects) Check(spec *v1alpha1.ReceiverSpec) error {
	found := []error{receiver.Check(spec)}
	for i, do := range spec.Do {
		if do.Reconcile == nil {
			continue
		}
		if kind, err := receiver.Kind(do.Reconcile); err == nil && !e.Kinds.reconciles(kind.GroupKind()) {
			found = append(found, fmt.Errorf("spec.do[%d].reconcile: kind %s is not allowed; see --receiver-kinds of pequod-actions", i, kind.GroupKind()))
		}
	}
	return errors.Join(found...)
}

// Perform performs the effects of a message. They are stored when it returns without an error.
// Otherwise some of them may be stored, and another delivery of the message does the rest. The error is
// a *[source.Error].
func (e *Effects) Perform(ctx context.Context, r *v1alpha1.Receiver, m source.Message) (Result, error) {
	var result Result
	if err := e.Check(&r.Spec); err != nil {
		// Its author can mend the Receiver.
		return result, &source.Error{Class: source.Failed, Message: err.Error()}
	}
	order, err := decide(&r.Spec, m, e.Now())
	if err != nil {
		return result, &source.Error{Class: source.Refused, Message: err.Error() + cure(m)}
	}
	if order.skip {
		return result, nil
	}
	client, err := e.Accounts.Dynamic(r.Namespace, r.Spec.ServiceAccountName)
	if err != nil {
		return result, &source.Error{Class: source.Failed, Message: err.Error()}
	}
	for i, do := range r.Spec.Do {
		s := &step{Effects: e, client: client, namespace: r.Namespace, account: r.Spec.ServiceAccountName, receiver: r.Name, order: order, receipt: receiptOf(string(r.UID), i, order.key), result: &result}
		switch {
		case do.Reconcile != nil:
			err = s.reconcile(ctx, do.Reconcile)
		case do.Observe != nil:
			err = s.observe(ctx, do.Observe)
		case do.Apply != nil:
			err = s.apply(ctx, do.Apply)
		case do.Delete != nil:
			err = s.delete(ctx, do.Delete)
		}
		if err != nil {
			failure := classify(fmt.Sprintf("do[%d]", i), err)
			if failure.Class == source.Refused {
				failure.Message += cure(m)
			}
			return result, failure
		}
	}
	return result, nil
}

// cure returns what to do about a refused message whose body isn't JSON.
func cure(m source.Message) string {
	if text, is := m.Body.(string); !is || len(text) != m.Size || text == "" {
		return ""
	}
	return "; the body is no JSON: have the sender use the content type application/json"
}

// classify returns the error of an effect with its class.
func classify(what string, err error) *source.Error {
	class := source.Unavailable
	var known *source.Error
	switch {
	case errors.As(err, &known):
		class = known.Class
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err):
		class = source.Refused
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err), conflicts(err):
		class = source.Failed
	}
	return &source.Error{Class: class, Message: what + ": " + err.Error()}
}
