package engine

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/pequod-io/pequod/applier/fields"
	"github.com/pequod-io/pequod/applier/resolve"
)

// want resolves the references of a node, if what they read has changed.
func (e *Engine) want(n *node) {
	versions := e.versions(n)
	// What a preview sees of an object before and after a change has one version.
	if n.want.known && n.want.seen == versions && (e.opts.Mode != ModePlan || versions == "") {
		return
	}
	n.want = wanted{known: true, seen: versions}
	object, err := e.resolveObject(n)
	if err != nil {
		n.want.err = err
		return
	}
	e.finish(n, object.Object)
	n.want.object = object.Object
	n.want.digest, n.want.err = n.digest(object.Object)
}

func (e *Engine) resolveObject(n *node) (*unstructured.Unstructured, error) {
	if e.opts.Mode != ModePlan {
		return e.resolver.Object(n.index, e.live)
	}
	p, err := e.resolver.Preview(n.index, e.live)
	n.want.unknown = p.Unknown
	return p.Object, err
}

// digest is that of an object and of how it is applied: a policy that changed
// isn't drift.
func (n *node) digest(object map[string]any) (string, error) {
	if n.manager == FieldManager && len(n.ignore) == 0 {
		return fields.Digest(object)
	}
	return fields.Digest([]any{object, n.manager, n.ignore})
}

// referenceText is an error of a reference without the node, which the status names.
func referenceText(err error) string {
	var failed *resolve.EvalError
	if errors.As(err, &failed) {
		return fmt.Sprintf("%s: %s (in %s)", failed.Path, failed.Message, failed.Expr)
	}
	return err.Error()
}

// versions tells states of the objects that a node reads apart.
func (e *Engine) versions(n *node) string {
	if len(n.References) == 0 {
		return ""
	}
	var b strings.Builder
	for _, m := range n.needs {
		if seen := e.world[m.key]; seen != nil && m.read {
			b.WriteString(string(seen.uid) + "/" + seen.version + " ")
		}
	}
	return b.String()
}

// finish gives an object what every object of the graph has.
func (e *Engine) finish(n *node, object map[string]any) {
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
	for name, value := range e.owner.Labels() {
		labels[name] = value
	}
}
