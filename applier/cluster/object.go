package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	validate "k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/inventory"
)

// address is an object as requests name it.
type address struct {
	gvk       schema.GroupVersionKind
	kind      Kind
	namespace string
	name      string
}

// find turns a key into an address.
func (c *Client) find(ctx context.Context, key inventory.Key, version string) (address, error) {
	for _, name := range []string{key.Namespace, key.Name} {
		// It would lead to another object. A graph is checked for it; what an
		// inventory holds may have been edited.
		if wrong := validate.IsPathSegmentName(name); len(wrong) > 0 {
			return address{}, &engine.Failure{Reason: engine.ReasonInvalid, Terminal: true, Message: fmt.Sprintf("%q is not a name: %s", name, wrong[0])}
		}
	}
	gvk := schema.GroupVersionKind{Group: key.Group, Version: version, Kind: key.Kind}
	kind, err := c.kinds.Find(ctx, gvk)
	if err != nil {
		return address{}, err
	}
	a := address{gvk: gvk, kind: kind, namespace: key.Namespace, name: key.Name}
	if !kind.Namespaced {
		a.namespace = ""
	}
	return a, nil
}

func (c *Client) resource(kind Kind, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return c.objects.Resource(kind.Resource)
	}
	return c.objects.Resource(kind.Resource).Namespace(namespace)
}

// Get reads one object; nil if there is none.
func (c *Client) Get(ctx context.Context, key inventory.Key, version string) (*unstructured.Unstructured, error) {
	a, err := c.find(ctx, key, version)
	if err != nil {
		return nil, err
	}
	return c.get(ctx, a)
}

func (c *Client) get(ctx context.Context, a address) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	obj, err := c.resource(a.kind, a.namespace).Get(ctx, a.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, c.confirm(a, err)
	}
	return obj, err
}

// confirm tells an object that isn't there from a kind that isn't: the cluster
// stopped serving it since it was looked up.
func (c *Client) confirm(a address, err error) error {
	if isKindGone(err) {
		c.kinds.Invalidate(a.gvk.GroupVersion())
		return &NoKindError{a.gvk}
	}
	return nil
}

// isKindGone recognises the answer to a path that the API server doesn't serve,
// which names no object.
func isKindGone(err error) bool {
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return false
	}
	d := status.Status().Details
	return d == nil || d.Name == "" && len(d.Causes) > 0 && d.Causes[0].Type == metav1.CauseTypeUnexpectedServerResponse
}

// patch sends a patch and says whether it created the object.
func (c *Client) patch(ctx context.Context, a address, kind types.PatchType, body any, options metav1.PatchOptions) (*unstructured.Unstructured, bool, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request := c.rest.Patch(kind).MaxRetries(0).AbsPath(path(a)...).Body(raw)
	for name, value := range parameters(options, c.DryRun) {
		request.Param(name, value)
	}
	var status int
	obj, err := answer(request.Do(ctx).StatusCode(&status))
	return obj, status == http.StatusCreated, err
}

// answer reads an object. (Result.Into reads it twice, to learn its kind first.)
func answer(result rest.Result) (*unstructured.Unstructured, error) {
	raw, err := ResponseBody(result)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, utiljson.Unmarshal(raw, &obj.Object)
}

// ResponseBody is the body of an answer. The error is what the API server says, which
// Result.Raw doesn't read.
func ResponseBody(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

func path(a address) []string {
	var p []string
	if a.gvk.Group == "" {
		p = append(p, "api", a.gvk.Version)
	} else {
		p = append(p, "apis", a.gvk.Group, a.gvk.Version)
	}
	if a.namespace != "" {
		p = append(p, "namespaces", a.namespace)
	}
	return append(p, a.kind.Resource.Resource, a.name)
}

func parameters(o metav1.PatchOptions, dryRun bool) map[string]string {
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
