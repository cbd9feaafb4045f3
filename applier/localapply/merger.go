// Package localapply computes the result of a server-side apply without asking the
// API server for a dry run, for accounts that may read objects but not patch them.
//
// It uses the code with which the API server merges fields and tracks their
// managers, and the types that the API server publishes as OpenAPI. It neither
// validates nor admits an object, and it sets no defaults: the result of a new field
// lacks the fields that the API server would add to it. Defaults that the live object
// already has are kept (see expand).
//
// [Merger.Merge] is the entry point. Programs that write to a cluster must not use it.
package localapply

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Merger merges objects by the types of one cluster. It reads the types of an API
// group when they are first needed. It is safe for concurrent use.
type Merger struct {
	// published returns the client of the cluster's OpenAPI documents.
	published func() (openapi.ClientWithContext, error)

	mu    sync.Mutex // guards types; held while they are read
	types map[schema.GroupVersion]*types
}

// types are the types of one API group and version.
type types struct {
	// schemas are keyed by the names that references use. They are empty if the
	// cluster publishes none, or not to this account.
	schemas   map[string]*spec.Schema
	converter managedfields.TypeConverter
}

// New returns a Merger for the cluster whose OpenAPI documents published returns.
func New(published func() (openapi.ClientWithContext, error)) *Merger {
	return &Merger{published: published, types: map[schema.GroupVersion]*types{}}
}

// Merge returns live as it would be after config is applied by a field manager. With
// live nil, it returns config. The error is the API server's error for a conflict of
// managers, or a BadRequest for an object that doesn't fit its type. ctx limits the
// reading of the types.
func (m *Merger) Merge(ctx context.Context, live, config *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error) {
	config = config.DeepCopy()
	if live == nil {
		return config, nil
	}
	gvk := config.GroupVersionKind()
	t, err := m.typesOf(ctx, gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	live = live.DeepCopy()
	entries := live.GetManagedFields()
	for i := range entries {
		// The paths of fields rarely differ between the versions of a kind. Without
		// the types of the other version, the alternative is to ignore its managers.
		entries[i].APIVersion = config.GetAPIVersion()
	}
	typ := t.typeOf(gvk)
	if typ == nil {
		entries = withoutItems(entries)
	}
	live.SetManagedFields(entries)
	expander{schemas: t.schemas}.expand(typ, config, live)
	merged, err := t.merge(typ, live, config, manager, force)
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return nil, err // a conflict
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return merged, nil
}

// typesOf returns the types of an API group and version. A cluster that doesn't
// publish them has none: their absence isn't an error, but that of the cluster is.
func (m *Merger) typesOf(ctx context.Context, gv schema.GroupVersion) (*types, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.types[gv]; t != nil {
		return t, nil
	}
	t := &types{}
	data, err := m.read(ctx, gv)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		var doc spec3.OpenAPI
		if err := json.Unmarshal(data, &doc); err == nil && doc.Components != nil {
			t.schemas = doc.Components.Schemas
			t.converter, err = managedfields.NewTypeConverter(t.schemas, false)
			if err != nil {
				t.schemas = nil
			}
		}
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading the OpenAPI document of %s: %w", gv, err)
	}
	m.types[gv] = t
	return t, nil
}

// read returns the OpenAPI document of a group and version, nil if there is none.
func (m *Merger) read(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	client, err := m.published()
	if err != nil {
		return nil, err
	}
	paths, err := client.PathsWithContext(ctx)
	if err != nil {
		return nil, err
	}
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	document, ok := paths[path]
	if !ok {
		return []byte("{}"), nil
	}
	return document.SchemaWithContext(ctx, "application/json")
}

// typeOf returns the schema of a kind, nil if there is none.
func (t *types) typeOf(gvk schema.GroupVersionKind) *spec.Schema {
	for _, s := range t.schemas {
		var of []metav1.GroupVersionKind
		if s.Extensions.GetObject("x-kubernetes-group-version-kind", &of) != nil {
			continue
		}
		for _, other := range of {
			if schema.GroupVersionKind(other) == gvk {
				return s
			}
		}
	}
	return nil
}

// merge applies config to live. Without a type, lists are atomic.
func (t *types) merge(typ *spec.Schema, live, config *unstructured.Unstructured, manager string, force bool) (*unstructured.Unstructured, error) {
	converter := t.converter
	if typ == nil {
		converter = managedfields.NewDeducedTypeConverter()
	}
	gvk := config.GroupVersionKind()
	fields, err := managedfields.NewDefaultCRDFieldManager(converter, sameVersion{}, sameVersion{}, sameVersion{}, gvk, gvk.GroupVersion(), "", nil)
	if err != nil {
		return nil, err
	}
	merged, err := fields.Apply(live, config, manager, force)
	if err != nil {
		return nil, err
	}
	return merged.(*unstructured.Unstructured), nil
}

// sameVersion implements what the API server's field manager needs of a scheme, for
// unstructured objects of one version: no conversion, no defaults, empty objects.
type sameVersion struct{}

func (sameVersion) Convert(in, out, context any) error { return fmt.Errorf("no conversion of %T", in) }

func (sameVersion) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (sameVersion) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (sameVersion) Default(runtime.Object) {}

func (sameVersion) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(gvk)
	return object, nil
}
