package effect

import (
	"errors"
	"fmt"

	"github.com/pequod-io/pequod/api/receiver"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

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
