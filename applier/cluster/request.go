package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	validate "k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// address identifies an object in requests.
type address struct {
	gvk       schema.GroupVersionKind
	kind      Kind
	namespace string // "" for cluster-scoped kinds
	name      string
}

// resolve returns the address of an object. It discovers the kind if necessary;
// the error is a [*NoKindError] if the cluster doesn't serve it.
func (c *Client) resolve(ctx context.Context, key inventory.Key, version string) (address, error) {
	return c.resolveWith(ctx, key, version, func(ctx context.Context, gvk schema.GroupVersionKind) (Kind, schema.GroupVersionKind, error) {
		kind, err := c.kinds.Find(ctx, gvk)
		return kind, gvk, err
	})
}

// resolveServed is resolve for an object that left its graph: if its version isn't
// served any more, the address is that of another version.
func (c *Client) resolveServed(ctx context.Context, key inventory.Key, version string) (address, error) {
	return c.resolveWith(ctx, key, version, c.kinds.FindServed)
}

// resolveWith is resolve with a function that finds the kind and its version.
func (c *Client) resolveWith(ctx context.Context, key inventory.Key, version string,
	find func(context.Context, schema.GroupVersionKind) (Kind, schema.GroupVersionKind, error),
) (address, error) {
	for _, name := range []string{key.Namespace, key.Name} {
		// A name with a slash or dots would address another object. The names
		// in a graph are validated, but an inventory may have been edited.
		if wrong := validate.IsPathSegmentName(name); len(wrong) > 0 {
			return address{}, &engine.Failure{Reason: engine.ReasonInvalid, Terminal: true, Message: fmt.Sprintf("%q is not a name: %s", name, wrong[0])}
		}
	}
	kind, gvk, err := find(ctx, schema.GroupVersionKind{Group: key.Group, Version: version, Kind: key.Kind})
	if err != nil {
		return address{}, err
	}
	a := address{gvk: gvk, kind: kind, namespace: key.Namespace, name: key.Name}
	if !kind.Namespaced {
		a.namespace = ""
	} else if key.Namespace == "" {
		return a, errNoNamespace
	}
	return a, nil
}

// errNoNamespace is returned for an object without a namespace whose kind is
// namespaced. Such an object doesn't exist: its kind was cluster-scoped when the key was
// made, and its definition was deleted since, with all objects.
var errNoNamespace = errors.New("the kind is namespaced")

// errScope is returned for the object of a node if the scope of its kind is another one
// than that of its key.
var errScope = &engine.Failure{Reason: engine.ReasonScopeChanged, Message: "the scope of the kind has changed: apply the graph again"}

// collectionPath returns the URL path segments of the objects of a's kind in its
// namespace.
func (a address) collectionPath() []string {
	var p []string
	if a.gvk.Group == "" {
		p = append(p, "api", a.gvk.Version)
	} else {
		p = append(p, "apis", a.gvk.Group, a.gvk.Version)
	}
	if a.namespace != "" {
		p = append(p, "namespaces", a.namespace)
	}
	return append(p, a.kind.Resource.Resource)
}

// path returns the URL path segments of the object.
func (a address) path() []string { return append(a.collectionPath(), a.name) }

// resource returns the dynamic client for a kind; namespace is "" for all namespaces
// and for cluster-scoped kinds.
func (c *Client) resource(kind Kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.objects.Resource(kind.Resource)
	}
	return c.objects.Resource(kind.Resource).Namespace(namespace)
}

// Get reads one object. It returns nil if the object doesn't exist, and a
// [*NoKindError] if its kind doesn't.
func (c *Client) Get(ctx context.Context, key inventory.Key, version string) (*unstructured.Unstructured, error) {
	a, err := c.resolve(ctx, key, version)
	if err != nil {
		return nil, err
	}
	return c.get(ctx, a)
}

// get reads the object at an address. It returns nil without an error if the object
// doesn't exist.
func (c *Client) get(ctx context.Context, a address) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	obj, err := c.resource(a.kind, a.namespace).Get(ctx, a.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, c.missing(a.gvk, err)
	}
	return obj, err
}

// missing distinguishes the two meanings of a NotFound error: it returns nil if
// only the object is missing, and a [*NoKindError] if the cluster stopped serving
// the kind after it was discovered. In that case it also invalidates the cache.
func (c *Client) missing(gvk schema.GroupVersionKind, err error) error {
	if !isPathNotServed(err) {
		return nil
	}
	c.kinds.Invalidate(gvk.GroupVersion())
	return &NoKindError{gvk}
}

// patch sends a patch. It returns the patched object and whether the patch
// created it. body is encoded as JSON.
func (c *Client) patch(ctx context.Context, a address, patchType types.PatchType, body any, options metav1.PatchOptions) (*unstructured.Unstructured, bool, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// The engine decides about retries, with its own backoff.
	request := c.rest.Patch(patchType).MaxRetries(0).AbsPath(a.path()...).Body(raw)
	for name, value := range queryParameters(options, c.DryRun) {
		request.Param(name, value)
	}
	var status int
	obj, err := decodeObject(request.Do(ctx).StatusCode(&status))
	return obj, status == http.StatusCreated, err
}

// queryParameters returns the URL query parameters of a patch.
func queryParameters(o metav1.PatchOptions, dryRun bool) map[string]string {
	p := map[string]string{}
	if o.FieldManager != "" {
		p["fieldManager"] = o.FieldManager
	}
	if o.Force != nil && *o.Force {
		p["force"] = "true"
	}
	if o.FieldValidation != "" {
		p["fieldValidation"] = o.FieldValidation
	}
	if dryRun {
		p["dryRun"] = metav1.DryRunAll
	}
	return p
}

// jsonPatchOperation is one operation of a JSON patch (RFC 6902).
type jsonPatchOperation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// errReplaced is returned when an object isn't the one that the engine observed.
var errReplaced = &engine.Failure{Reason: engine.ReasonApplyFailed, Message: "was replaced by another object of its name"}
