package effect

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/actions/expression"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Check returns why a Receiver can't have effects, or nil. It finds what the CRD can't.
func (e *Effects) Check(spec *v1alpha1.ReceiverSpec) error {
	var found []error
	check := func(field string, env *reference.Variables, expr v1alpha1.ReceiverExpression) {
		if expr == "" {
			return
		}
		if err := expression.Check(env, string(expr)); err != nil {
			found = append(found, fmt.Errorf("%s: %w", field, err))
		}
	}
	check("spec.filter", overMessage, spec.Filter)
	if spec.Dedupe != nil {
		check("spec.dedupe.key", overMessage, spec.Dedupe.Key)
	}
	if spec.Replay != nil {
		check("spec.replay.timestamp", overMessage, spec.Replay.Timestamp)
	}
	target := func(field string, t *v1alpha1.ReceiverTarget) {
		check(field+".when", overObject, t.When)
		if _, err := metav1.LabelSelectorAsSelector(t.Selector); err != nil {
			found = append(found, fmt.Errorf("%s.selector: %w", field, err))
		}
	}
	for i, do := range spec.Do {
		field := fmt.Sprintf("spec.do[%d]", i)
		switch {
		case do.Reconcile != nil:
			target(field+".reconcile", &do.Reconcile.ReceiverTarget)
			kind, err := kindOf(do.Reconcile)
			if err == nil && !e.Kinds.reconciles(kind.GroupKind()) {
				err = fmt.Errorf("kind %s is not allowed; see --receiver-kinds of pequod-actions", kind.GroupKind())
			}
			if err != nil {
				found = append(found, fmt.Errorf("%s.reconcile: %w", field, err))
			}
		case do.Observe != nil:
			target(field+".observe", do.Observe)
		case do.Apply != nil:
			check(field+".apply.object", overMessage, do.Apply.Object)
		}
	}
	return errors.Join(found...)
}
