package instances

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/operator/admission/serve"
	"github.com/pequod-io/pequod/operator/catalog"
)

const (
	// timeoutSeconds is the timeout of the webhook, and timeout bounds the check. It is
	// shorter, so that the API server gets a message.
	timeoutSeconds = 5
	timeout        = timeoutSeconds*time.Second - 500*time.Millisecond
	// maxWarnings is the number of warnings of an instance.
	maxWarnings = 10
	// maxVerdicts bounds the number of remembered verdicts, and verdictTTL their age.
	maxVerdicts, verdictTTL = 4096, 10 * time.Minute
)

// Validator finds the problems of an instance that pequod validate finds. An error means that
// it can't decide.
type Validator interface {
	Validate(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (problem.List, error)
}

// Options configure a [Webhook]. Both fields are required.
type Options struct {
	// Platform returns the platform of a kind, or nil if this replica has none.
	Platform  func(kind schema.GroupKind) *catalog.Entry
	Validator Validator
}

// Webhook answers the API server's reviews of requests that write instances. It is safe for
// concurrent use.
type Webhook struct {
	Options
	busy *busy
	// verdicts has the problems of instances by their digests. A dry run and the request
	// after it are one evaluation.
	verdicts *cache.LRUExpireCache
}

var _ admission.Handler = (*Webhook)(nil)

// New returns a webhook.
func New(o Options) *Webhook {
	return &Webhook{o, newBusy(), cache.NewLRUExpireCache(maxVerdicts)}
}

// Handle answers one request.
func (w *Webhook) Handle(ctx context.Context, request admission.Request) admission.Response {
	if request.SubResource != "" || request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return admission.Allowed("")
	}
	kind := schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}
	entry := w.Platform(kind)
	if entry == nil {
		return serve.Unavailable("the module of " + kind.String() + " is not loaded yet")
	}
	instance := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(request.Object.Raw, &instance.Object); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("reading the instance: %w", err))
	}
	gvk := instance.GroupVersionKind()
	if gvk.GroupKind() != kind {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("%s is not a %s", gvk.GroupKind(), kind))
	}
	// An object that is being created has no namespace of its own yet, and perhaps no name.
	instance.SetNamespace(request.Namespace)
	problems, err := w.validate(ctx, Version(entry, instance), instance)
	switch {
	case err != nil:
		return serve.Unavailable(gvk.Kind + " " + instance.GetName() + " could not be checked: " + err.Error())
	case problems.Failed():
		return serve.Invalid(gvk.GroupKind(), instance.GetName(), problems)
	}
	return admission.Allowed("").WithWarnings(warnings(problems)...)
}

// validate returns the problems of an instance, which it remembers.
func (w *Webhook) validate(ctx context.Context, entry *catalog.Entry, instance *unstructured.Unstructured) (problem.List, error) {
	key, err := digestOf(entry, instance)
	if err != nil {
		return nil, err
	}
	if known, ok := w.verdicts.Get(key); ok {
		return known.(problem.List), nil
	}
	leave, err := w.busy.enter(entry.Transform)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	problems, err := w.Validator.Validate(ctx, entry, instance)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no result after %s", timeout)
	case err != nil:
		return nil, err
	}
	w.verdicts.Add(key, problems, verdictTTL)
	return problems, nil
}

// digestOf returns the digest of all that a verdict depends on.
func digestOf(entry *catalog.Entry, instance *unstructured.Unstructured) ([sha256.Size]byte, error) {
	labels, annotations := instance.GetLabels(), instance.GetAnnotations()
	adopt := annotations[v1alpha1.AnnotationAdopt] // rendering reads it in any case
	if entry.IgnoresLabels {
		labels = nil
	}
	if entry.IgnoresAnnotations {
		annotations = nil
	}
	raw, err := json.Marshal([]any{
		entry.Transform.String(), entry.Digest, entry.Former, instance.GetAPIVersion(), instance.GetKind(), instance.GetNamespace(), instance.GetName(),
		instance.Object["spec"], instance.Object["graphNamespace"], labels, annotations, adopt,
	})
	return sha256.Sum256(raw), err
}

// warnings returns the problems of an instance that is accepted, without notes.
func warnings(problems problem.List) []string {
	var texts []string
	for _, p := range problems {
		if p.Severity == problem.Warning && len(texts) < maxWarnings {
			p.Severity = problem.Error // clients print "Warning: " themselves
			texts = append(texts, p.String())
		}
	}
	return texts
}
