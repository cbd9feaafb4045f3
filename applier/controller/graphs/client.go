package graphs

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/cluster"
)

const (
	// resource is the plural name of ResourceGraphs in URLs.
	resource = "resourcegraphs"
	// requestTimeout bounds every request but watches: without it, a request that
	// is never answered would be waited for as long as its connection lives.
	requestTimeout = 30 * time.Second
	// pageSize is the number of graphs that are read at once. A graph may be large.
	pageSize = 100
	// metadataOnly is the media type of an object without its spec and status.
	metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	// maxConflicts is how often a write is repeated that others get ahead of.
	maxConflicts = 5
)

// ErrBusy means that others changed a graph again and again while it was to be
// written.
var ErrBusy = errors.New("the graph changes faster than it can be written")

// Client reads and writes ResourceGraphs. It is safe for concurrent use.
type Client struct {
	typed rest.Interface // decodes ResourceGraphs
	raw   rest.Interface // of the same identity, leaves answers undecoded

	definition definition
}

// New returns a client for the cluster of config. Own is a client of the same
// identity for any other kind of request.
func New(config *rest.Config, own *cluster.Client) (*Client, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddGraphsToScheme(scheme); err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server limits requests itself
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	typed, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return &Client{typed: typed, raw: own.REST()}, nil
}

// Key returns the namespace and name of a graph.
func Key(rg *v1alpha1.ResourceGraph) types.NamespacedName {
	return types.NamespacedName{Namespace: rg.Namespace, Name: rg.Name}
}

// Get reads a graph without its managed fields. If the applier may only list graphs, it lists one.
func (c *Client) Get(ctx context.Context, key types.NamespacedName) (*v1alpha1.ResourceGraph, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rg := &v1alpha1.ResourceGraph{}
	err := c.typed.Get().Resource(resource).Namespace(key.Namespace).Name(key.Name).Do(ctx).Into(rg)
	if apierrors.IsForbidden(err) {
		list := &v1alpha1.ResourceGraphList{}
		named := c.typed.Get().Resource(resource).Namespace(key.Namespace).Param("fieldSelector", "metadata.name="+key.Name)
		if listErr := named.Do(ctx).Into(list); listErr == nil && len(list.Items) == 1 {
			rg, err = &list.Items[0], nil
		}
	}
	rg.ManagedFields = nil
	return rg, err
}

// List calls each for every graph of a namespace, page by page.
func (c *Client) List(ctx context.Context, namespace string, each func(*v1alpha1.ResourceGraph)) error {
	for next := ""; ; {
		list, err := c.page(ctx, namespace, next)
		if err != nil {
			return err
		}
		for i := range list.Items {
			each(&list.Items[i])
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}

// page reads one page of a list.
func (c *Client) page(ctx context.Context, namespace, next string) (*v1alpha1.ResourceGraphList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list := &v1alpha1.ResourceGraphList{}
	err := c.typed.Get().Resource(resource).Namespace(namespace).
		Param("limit", strconv.Itoa(pageSize)).Param("continue", next).Do(ctx).Into(list)
	return list, err
}

// patch merges a patch into a graph or, with subresource "status", into its
// status. It returns the new resource version. The answer is limited to
// metadata, because a graph may be large.
func (c *Client) patch(ctx context.Context, key types.NamespacedName, patch any, subresource ...string) (string, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := cluster.ResponseBody(c.raw.Patch(types.MergePatchType).
		AbsPath("/apis/"+v1alpha1.GroupVersion.String(), "namespaces", key.Namespace, resource, key.Name).Suffix(subresource...).
		Param("fieldManager", v1alpha1.ApplierProgram).
		SetHeader("Accept", metadataOnly).
		Body(body).Do(ctx))
	if err != nil {
		return "", err
	}
	var answer metav1.PartialObjectMetadata
	err = json.Unmarshal(raw, &answer)
	return answer.ResourceVersion, err
}
