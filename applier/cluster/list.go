package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// concurrency bounds the requests that one call sends at the same time.
const concurrency = 8

// Selection is the objects that one list or watch covers: those of a kind,
// optionally limited to a namespace, by labels, or to one name. Selections are
// comparable, so that callers can use them as map keys.
type Selection struct {
	GVK schema.GroupVersionKind
	// Namespace is "" for all namespaces. It is ignored for cluster-scoped kinds.
	Namespace string
	// Labels is a label selector; "" selects all objects.
	Labels string
	// Name selects one object; "" selects all objects.
	Name string
}

// namespaceFor returns the namespace to request, which is "" for a cluster-scoped kind.
func (s Selection) namespaceFor(kind Kind) string {
	if !kind.Namespaced {
		return ""
	}
	return s.Namespace
}

// listOptions returns the selectors of the selection as options for a list or watch.
func (s Selection) listOptions() metav1.ListOptions {
	options := metav1.ListOptions{LabelSelector: s.Labels}
	if s.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.Name).String()
	}
	return options
}

// Listing is a consistent list of the objects of a selection.
type Listing struct {
	Selection Selection
	// ResourceVersion is the version of the list; a watch can start from it.
	ResourceVersion string
	// Objects are owned by the receiver of the listing.
	Objects []unstructured.Unstructured
}

// List lists the objects of a selection. The error is a [*NoKindError] if the
// cluster doesn't serve the kind.
func (c *Client) List(ctx context.Context, s Selection) (*Listing, error) { return c.list(ctx, s, nil) }

// list is [Client.List] for the objects that keep selects, nil means all. The others
// are dropped after each page.
func (c *Client) list(ctx context.Context, s Selection, keep func(*unstructured.Unstructured) bool) (*Listing, error) {
	kind, err := c.kinds.Find(ctx, s.GVK)
	if err != nil {
		return nil, err
	}
	// client-go prints to standard error when a list is cancelled, so let it
	// finish: the request timeout bounds it.
	items, version, err := c.listAll(context.WithoutCancel(ctx), kind, s.namespaceFor(kind), s.listOptions(), keep)
	if err != nil {
		return nil, c.kindError(s.GVK, err)
	}
	return &Listing{s, version, items}, nil
}

// kindError returns a [*NoKindError] if err means that the cluster stopped
// serving the kind, and err itself otherwise.
func (c *Client) kindError(gvk schema.GroupVersionKind, err error) error {
	if apierrors.IsNotFound(err) {
		if noKind := c.missing(gvk, err); noKind != nil {
			return noKind
		}
	}
	return err
}

// ListPages lists the objects of a selection and calls handle for each page, so
// that the caller doesn't need memory for all objects at once.
func (c *Client) ListPages(ctx context.Context, s Selection, handle func([]unstructured.Unstructured)) error {
	kind, err := c.kinds.Find(ctx, s.GVK)
	if err != nil {
		return err
	}
	options := s.listOptions()
	options.Limit = pageSize
	_, err = c.listPages(ctx, kind, s.namespaceFor(kind), options, handle)
	return err
}

// ListObjects lists at most one page of the objects of a kind in a namespace, ""
// for all namespaces. The selectors may be empty. It implements the reader of
// package cause, which needs only a few objects.
func (c *Client) ListObjects(ctx context.Context, gvk schema.GroupVersionKind, namespace, labelSelector, fieldSelector string) ([]unstructured.Unstructured, error) {
	kind, err := c.kinds.Find(ctx, gvk)
	if err != nil {
		return nil, err
	}
	list, err := c.listPage(ctx, kind, namespace, metav1.ListOptions{LabelSelector: labelSelector, FieldSelector: fieldSelector, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// listAll lists all pages. It returns the objects that keep selects, and the version of
// the list.
func (c *Client) listAll(
	ctx context.Context, kind Kind, namespace string, options metav1.ListOptions, keep func(*unstructured.Unstructured) bool,
) (items []unstructured.Unstructured, version string, err error) {
	options.Limit = pageSize
	if keep != nil {
		options.Limit = keptPageSize
	}
	version, err = c.listPages(ctx, kind, namespace, options, func(page []unstructured.Unstructured) {
		if keep != nil {
			page = slices.DeleteFunc(page, func(obj unstructured.Unstructured) bool { return !keep(&obj) })
		}
		items = append(items, page...)
	})
	if err != nil {
		return nil, "", err
	}
	return items, version, nil
}

// listPages lists all pages, of options.Limit objects each, and returns the version of
// the list.
func (c *Client) listPages(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions, handle func([]unstructured.Unstructured)) (string, error) {
	for {
		list, err := c.listPage(ctx, kind, namespace, options)
		if err != nil {
			return "", err
		}
		handle(list.Items)
		if options.Continue = list.Metadata.Continue; options.Continue == "" {
			return list.Metadata.ResourceVersion, nil
		}
	}
}

// page is one page of a list.
type page struct {
	APIVersion string                      `json:"apiVersion"`
	Kind       string                      `json:"kind"`
	Metadata   metav1.ListMeta             `json:"metadata"`
	Items      []unstructured.Unstructured `json:"-"`
	Objects    []map[string]any            `json:"items"`
}

// listPage sends one list request, with a timeout of its own. It decodes the answer
// at once: the decoder of client-go decodes each object twice.
func (c *Client) listPage(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions) (*page, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	a := address{gvk: kind.Resource.GroupVersion().WithKind(""), kind: kind, namespace: namespace}
	request := c.rest.Get().AbsPath(a.collectionPath()...).SetHeader("Accept", "application/json")
	for name, value := range map[string]string{
		"labelSelector": options.LabelSelector, "fieldSelector": options.FieldSelector,
		"limit": strconv.FormatInt(options.Limit, 10), "continue": options.Continue,
	} {
		if value != "" {
			request.Param(name, value)
		}
	}
	raw, err := ResponseBody(request.Do(ctx))
	if err != nil {
		return nil, err
	}
	list := &page{}
	if err := utiljson.Unmarshal(raw, list); err != nil {
		return nil, fmt.Errorf("the API server's list of %s: %w", kind.Resource.GroupResource(), err)
	}
	list.Items = make([]unstructured.Unstructured, len(list.Objects))
	for i, object := range list.Objects {
		if object == nil {
			return nil, fmt.Errorf("the API server's list of %s: item %d is null", kind.Resource.GroupResource(), i)
		}
		// The API server leaves out the kinds of items that it defines itself.
		if object["kind"] == nil {
			object["apiVersion"], object["kind"] = list.APIVersion, strings.TrimSuffix(list.Kind, "List")
		}
		list.Items[i].Object = object
	}
	return list, nil
}

// listMetadata lists one page of only the metadata of objects, which takes the
// API server and the network much less than whole objects. The page follows that which
// ended with next; the first one has "".
func (c *Client) listMetadata(ctx context.Context, kind Kind, namespace, next string) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	a := address{gvk: kind.Resource.GroupVersion().WithKind(""), kind: kind, namespace: namespace}
	raw, err := ResponseBody(c.rest.Get().AbsPath(a.collectionPath()...).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").
		Param("limit", strconv.Itoa(pageSize)).Param("continue", next).Do(ctx))
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	return list, json.Unmarshal(raw, list)
}
