package cluster

import (
	"context"
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (c *Client) list(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return c.resource(kind, namespace).List(ctx, options)
}

// listAll lists page by page, and gives the version at which the list was true.
func (c *Client) listAll(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions) (items []unstructured.Unstructured, version string, err error) {
	version, err = c.pages(ctx, kind, namespace, options, func(page []unstructured.Unstructured) { items = append(items, page...) })
	if err != nil {
		return nil, "", err
	}
	return items, version, nil
}

func (c *Client) pages(ctx context.Context, kind Kind, namespace string, options metav1.ListOptions, see func([]unstructured.Unstructured)) (string, error) {
	for options.Limit = page; ; {
		list, err := c.list(ctx, kind, namespace, options)
		if err != nil {
			return "", err
		}
		see(list.Items)
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return list.GetResourceVersion(), nil
		}
	}
}

// ListPages lists the objects of a scope page by page, for those who don't keep them.
func (c *Client) ListPages(ctx context.Context, s Selection, see func([]unstructured.Unstructured)) error {
	kind, err := c.kinds.Find(ctx, s.GVK)
	if err != nil {
		return err
	}
	_, err = c.pages(ctx, kind, s.namespaceOf(kind), s.options(), see)
	return err
}

// listMetadata lists names and no more than metadata, which is small and quick.
func (c *Client) listMetadata(ctx context.Context, kind Kind, namespace string, limit int) (*metav1.PartialObjectMetadataList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	a := address{gvk: kind.Resource.GroupVersion().WithKind(""), kind: kind, namespace: namespace}
	p := path(a)
	raw, err := ResponseBody(c.rest.Get().AbsPath(p[:len(p)-1]...).
		SetHeader("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1").
		Param("limit", strconv.Itoa(limit)).Do(ctx))
	if err != nil {
		return nil, err
	}
	list := &metav1.PartialObjectMetadataList{}
	return list, json.Unmarshal(raw, list)
}

// ListObjects lists objects of a kind, for those who look for causes. Selectors may be empty.
func (c *Client) ListObjects(ctx context.Context, gvk schema.GroupVersionKind, namespace, labels, fields string) ([]unstructured.Unstructured, error) {
	kind, err := c.kinds.Find(ctx, gvk)
	if err != nil {
		return nil, err
	}
	list, err := c.list(ctx, kind, namespace, metav1.ListOptions{LabelSelector: labels, FieldSelector: fields, Limit: page})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
