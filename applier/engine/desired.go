package engine

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/api/graph"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/resolve"
)

// resolveDesired sets n.desired. It does nothing if the objects that the
// references read didn't change since the last call.
func (e *Engine) resolveDesired(n *node) {
	sources := e.sources(n)
	// In a plan, an object has the same version before and after its change, so
	// sources can't tell whether it changed.
	if n.desired.resolved && n.desired.sources == sources && (e.opts.Mode != ModePlan || sources == "") {
		return
	}
	n.desired = desired{resolved: true, sources: sources}
	object, err := e.resolveReferences(n)
	if err != nil {
		n.desired.err = err
		n.desired.resolved = !errors.Is(err, resolve.ErrLater)
		return
	}
	e.complete(n, object.Object)
	n.desired.object = object.Object
	n.desired.digest, n.desired.err = n.digest(object.Object)
	// The label is no part of the digest: it is no reason to write an object.
	bucket := e.opts.Bucket
	if seen := e.cache.objects[n.key]; seen != nil && bucket == "" {
		bucket = seen.bucket
	}
	if bucket != "" {
		object.Object["metadata"].(map[string]any)["labels"].(map[string]any)[v1alpha1.LabelBucket] = bucket
	}
}

func (e *Engine) resolveReferences(n *node) (*unstructured.Unstructured, error) {
	if e.opts.Mode != ModeApply {
		e.resolver.BeginStep() // a plan or a status shares no process with other graphs
	}
	if e.opts.Mode != ModePlan {
		return e.resolver.Object(n.index, e.live)
	}
	p, err := e.resolver.Preview(n.index, e.live)
	n.desired.unknown = p.Unknown
	return p.Object, err
}

// digest returns the digest of a desired object together with the policy by which
// it is applied. A change of the policy therefore isn't mistaken for drift.
func (n *node) digest(object map[string]any) (string, error) {
	if n.policy.manager == FieldManager && len(n.policy.ignore) == 0 {
		return fields.Digest(object)
	}
	return fields.Digest([]any{object, n.policy.manager, n.policy.ignore})
}

// referenceMessage returns the message of a failed reference without the node,
// which the status names already.
func referenceMessage(err error) string {
	var failed *resolve.EvalError
	if errors.As(err, &failed) {
		return fmt.Sprintf("%s: %s (in %s)", failed.Path, failed.Message, failed.Expr)
	}
	return err.Error()
}

// sources returns a string that changes whenever an object changes that the
// references of n may read.
func (e *Engine) sources(n *node) string {
	if len(n.References) == 0 {
		return ""
	}
	var b strings.Builder
	for _, m := range n.needs {
		if seen := e.cache.objects[m.key]; seen != nil && m.referenced {
			b.WriteString(string(seen.uid) + "/" + seen.version + " ")
		}
	}
	return b.String()
}

// removeForged removes labels and annotations of Pequod that a late reference to all
// labels or annotations of another object copied. Resources that spell them out are
// refused.
func removeForged(n *node, metadata, labels map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	maps.DeleteFunc(labels, func(name string, value any) bool { return !graph.MayLabel(n.GroupKind(), name, value) })
	maps.DeleteFunc(annotations, func(name string, _ any) bool { return strings.HasPrefix(name, v1alpha1.Prefix) })
}

// complete adds the graph's labels and the namespace to an object, and removes
// fields that only the API server may set.
func (e *Engine) complete(n *node, object map[string]any) {
	delete(object, "status")
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	delete(metadata, "creationTimestamp")
	delete(metadata, "managedFields")
	if n.key.Namespace == "" {
		delete(metadata, "namespace")
	} else {
		metadata["namespace"] = n.key.Namespace
	}
	labels, ok := metadata["labels"].(map[string]any)
	if !ok {
		labels = map[string]any{}
		metadata["labels"] = labels
	}
	removeForged(n, metadata, labels)
	for name, value := range e.owner.Labels() {
		labels[name] = value
	}
}
