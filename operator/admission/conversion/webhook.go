package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker"
)

// chunk is the number of instances that are converted in one evaluation, so that many of one kind
// don't hold up requests that arrive later. API servers send one, also for each object of a list.
const chunk = 50

// Converter converts instances, in their order, with the module of an entry.
type Converter interface {
	Convert(ctx context.Context, entry *catalog.Entry, instances []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error)
}

// Webhook answers the reviews of conversions. It is safe for concurrent use.
type Webhook struct {
	// Platforms returns the platforms of a kind that this replica has, the newest first.
	Platforms func(kind schema.GroupKind) []*catalog.Entry
	Converter Converter
}

// ServeHTTP answers one review, whose size and values the caller has bounded.
func (w *Webhook) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	review := &apiextensionsv1.ConversionReview{}
	if err == nil {
		err = json.Unmarshal(data, review)
	}
	if err == nil && review.Request == nil {
		err = errors.New("the review has no request")
	}
	if err != nil {
		http.Error(out, "reading the review: "+err.Error(), http.StatusBadRequest)
		return
	}
	response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
	if response.ConvertedObjects, err = w.convert(r.Context(), review.Request); err != nil {
		response.ConvertedObjects = nil
		response.Result = metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
	}
	review.Request, review.Response = nil, response
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(review) // the client is gone
}

// convert returns the objects of a request in the version that it asks for.
func (w *Webhook) convert(ctx context.Context, request *apiextensionsv1.ConversionRequest) ([]runtime.RawExtension, error) {
	desired, err := schema.ParseGroupVersion(request.DesiredAPIVersion)
	if err != nil {
		return nil, err
	}
	if len(request.Objects) == 0 {
		return nil, nil
	}
	// The kind decides whether the objects are decoded: every Pod can connect.
	var of metav1.TypeMeta
	versions := []string{desired.Version}
	for i, object := range request.Objects {
		var found metav1.TypeMeta
		if err := json.Unmarshal(object.Raw, &found); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
		if i == 0 {
			of = found
		}
		if gvk := found.GroupVersionKind(); gvk.Group != desired.Group || gvk.Kind != of.Kind {
			return nil, fmt.Errorf("%s is not of the kind that is converted to %s", gvk, desired)
		}
		versions = append(versions, found.GroupVersionKind().Version)
	}
	kind := schema.GroupKind{Group: desired.Group, Kind: of.Kind}
	entry := having(w.Platforms(kind), versions)
	if entry == nil {
		return nil, fmt.Errorf("no module of %s with the versions %s is loaded; try again", kind, text(versions))
	}
	instances := make([]*unstructured.Unstructured, len(request.Objects))
	for i, object := range request.Objects {
		instances[i] = &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(object.Raw, &instances[i].Object); err != nil {
			return nil, fmt.Errorf("reading an object: %w", err)
		}
	}
	var all []runtime.RawExtension
	for some := range slices.Chunk(instances, chunk) {
		converted, err := w.Converter.Convert(ctx, entry, some, desired.Version)
		if err != nil {
			return nil, err
		}
		for _, in := range converted {
			raw, err := json.Marshal(in.Object)
			if err != nil {
				return nil, err
			}
			all = append(all, runtime.RawExtension{Raw: raw})
		}
	}
	return all, nil
}

// having returns the first entry that has all versions, or nil.
func having(entries []*catalog.Entry, versions []string) *catalog.Entry {
	for _, e := range entries {
		has := map[string]bool{}
		for _, v := range e.Names.Versions {
			has[v.Name] = true
		}
		if !slices.ContainsFunc(versions, func(v string) bool { return !has[v] }) {
			return e
		}
	}
	return nil
}

// text returns the versions for a message, each once.
func text(versions []string) string {
	versions = slices.Compact(slices.Sorted(slices.Values(versions)))
	return fmt.Sprint(versions)
}

// Pooled returns a Converter that evaluates in the processes of a pool.
func Pooled(pool *worker.Pool) Converter { return pooled{pool} }

type pooled struct{ pool *worker.Pool }

// Convert implements [Converter]. A platform that the pool has forgotten is added again.
func (p pooled) Convert(ctx context.Context, entry *catalog.Entry, instances []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
	key := worker.Key{Transform: entry.Transform, Digest: entry.Digest}
	converted, err := p.pool.Convert(ctx, key, instances, version)
	if errors.Is(err, worker.ErrNotLoaded) {
		if err := p.pool.Add(key, entry.Sources); err != nil {
			return nil, err
		}
		converted, err = p.pool.Convert(ctx, key, instances, version)
	}
	return converted, err
}
