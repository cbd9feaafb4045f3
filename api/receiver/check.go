package receiver

import (
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// minEvery is the shortest time between two polls.
const minEvery = 10 * time.Second

// Check returns all errors of a Receiver that the CRD can't find, or nil. The text of each begins with
// its field.
func Check(spec *v1alpha1.ReceiverSpec) error {
	c := checker{}
	c.expression("spec.filter", expression.Message(), spec.Filter)
	if spec.Dedupe != nil {
		c.expression("spec.dedupe.key", expression.Message(), spec.Dedupe.Key)
	}
	if spec.Replay != nil {
		c.expression("spec.replay.timestamp", expression.Message(), spec.Replay.Timestamp)
	}
	if p := spec.Source.Poll; p != nil {
		c.expression("spec.source.poll.items", expression.Body(), p.Items)
		c.expression("spec.source.poll.key", expression.Item(), p.Key)
		if every, err := time.ParseDuration(string(p.Every)); err == nil && every < minEvery {
			c.add("spec.source.poll.every", fmt.Errorf("must be at least %s", minEvery))
		}
	}
	for i, do := range spec.Do {
		field := fmt.Sprintf("spec.do[%d]", i)
		switch {
		case do.Reconcile != nil:
			c.target(field+".reconcile", &do.Reconcile.ReceiverTarget)
			_, err := Kind(do.Reconcile)
			c.add(field+".reconcile.apiVersion", err)
		case do.Observe != nil:
			c.target(field+".observe", do.Observe)
		case do.Apply != nil:
			c.expression(field+".apply.object", expression.Message(), do.Apply.Object)
		case do.Delete != nil:
			c.expression(field+".delete.object", expression.Message(), do.Delete.Object)
			c.expression(field+".delete.uid", expression.Message(), do.Delete.UID)
			c.expression(field+".delete.before", expression.Message(), do.Delete.Before)
		}
	}
	return errors.Join(c.found...)
}

// checker collects errors.
type checker struct{ found []error }

// add adds an error of a field, unless it is nil.
func (c *checker) add(field string, err error) {
	if err != nil {
		c.found = append(c.found, fmt.Errorf("%s: %w", field, err))
	}
}

// expression checks an expression, if there is one.
func (c *checker) expression(field string, env *reference.Variables, expr v1alpha1.ReceiverExpression) {
	if expr != "" {
		c.add(field, expression.Check(env, string(expr)))
	}
}

// target checks what an effect is about.
func (c *checker) target(field string, t *v1alpha1.ReceiverTarget) {
	c.expression(field+".when", expression.MessageObject(), t.When)
	_, err := metav1.LabelSelectorAsSelector(t.Selector)
	c.add(field+".selector", err)
}

// Kind returns the kind of the objects to reconcile.
func Kind(r *v1alpha1.ReceiverReconcile) (schema.GroupVersionKind, error) {
	if r.APIVersion == "" {
		return v1alpha1.GroupVersion.WithKind(r.Kind), nil
	}
	version, err := schema.ParseGroupVersion(r.APIVersion)
	return version.WithKind(r.Kind), err
}
