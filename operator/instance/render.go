package instance

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/catalog"
)

// minRetry and maxRetry bound the pause after a rendering that failed for a reason that may
// pass, such as a limit of time. The pause doubles with each failure.
const (
	minRetry = 2 * time.Second
	maxRetry = 5 * time.Minute
)

// inputDigest identifies everything that a rendering depends on. It is a whole digest, so that nobody can make
// two inputs that have the same.
type inputDigest [sha256.Size]byte

// inputOf returns the digest of the input of a rendering.
func (k *kind) inputOf(instance *unstructured.Unstructured, entry *catalog.Entry, requested string) inputDigest {
	labels, annotations := instance.GetLabels(), instance.GetAnnotations()
	adopt := annotations[v1alpha1.AnnotationAdopt] // rendering reads it in any case
	if entry.IgnoresLabels {
		labels = nil
	}
	if entry.IgnoresAnnotations {
		annotations = nil
	}
	raw, err := json.Marshal([]any{
		instance.GetUID(), instance.GetAPIVersion(), instance.Object["spec"], instance.Object["graphNamespace"],
		labels, annotations, adopt, entry.Transform.String(), entry.Digest, entry.Former, requested, k.Program,
	})
	if err != nil {
		return inputDigest{} // can't happen: the instance was decoded from JSON
	}
	return sha256.Sum256(raw)
}

// mark is the value of the annotation [v1alpha1.AnnotationRendered].
func (r rendering) mark() string { return fmt.Sprintf("%x-%x", r.input, r.spec) }

// render renders the instance of a task, unless that was done already, perhaps by an earlier process:
// then the graph as it is, which may be nil, has the mark. Afterwards the rendering has a refusal, or the
// digest of a spec. If content is set, it has the graph, too.
func (t *task) render(ctx context.Context, found *graphView, content bool) {
	r := &t.memory.rendering
	if input := t.inputOf(t.instance, t.chosen, t.requested); r.input != input {
		*r = rendering{input: input}
		if found != nil {
			if was := (rendering{input: input, spec: found.spec}); was.mark() == found.Annotations[v1alpha1.AnnotationRendered] {
				*r = was
			}
		}
	}
	known := r.refusal != nil || r.spec != specDigest{} && (r.graph != nil || !content)
	if known && (r.retry.IsZero() || t.now().Before(r.retry)) {
		return
	}
	rg, problems, err := t.Renderer.Render(ctx, t.chosen, t.instance)
	var wrong problem.List
	switch {
	case errors.As(err, &wrong):
		r.refusal = refusalOf(wrong)
	case err != nil:
		t.failedToRender(r, err)
		return
	case problems.Failed() || rg == nil:
		r.refusal = refusalOf(problems)
	default:
		spec, err := specOf(rg)
		if err != nil {
			t.failedToRender(r, err)
			return
		}
		r.graph, r.spec, r.refusal = rg, digestOf(spec), nil
	}
	r.failures, r.retry = 0, time.Time{}
}

// failedToRender notes a failure that may pass.
func (t *task) failedToRender(r *rendering, err error) {
	pause := min(minRetry<<min(r.failures, 10), maxRetry)
	r.failures, r.retry = r.failures+1, t.now().Add(pause)
	r.refusal = &refusal{reason: reasonRenderFailed, message: err.Error(), retried: true}
}
