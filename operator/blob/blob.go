// Package blob keeps bytes in the cluster: the sources of the versions of platforms, and the
// archives of InstanceSources. So they are there for every replica of the manager, and for one
// that has lost its disk.
//
// A blob is a ControllerRevision in the namespace of the manager, or several if it is large.
// Kubernetes has this kind for the history of controllers, and lets no one change the data of
// one. The metadata of the first part says everything but the bytes, so that informers need not
// keep them.
//
// The package knows neither names nor content: its callers are packages operator/revision and
// operator/artifact.
package blob

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// annotationParts is the number of parts. Only the first part has it.
const annotationParts = v1alpha1.Prefix + "parts"

// maxPart is the largest part. As base64 in JSON it is some 1.2 MB, and etcd takes 1.5 MiB.
const maxPart = 900_000

// Store has the blobs of a namespace.
type Store struct {
	// Client reads the metadata of blobs from informers; see [ByObject].
	Client client.Client
	// API reads from the API server.
	API client.Reader
	// Namespace is the namespace of the manager.
	Namespace string
	// Field is the field of the data that has the bytes.
	Field string
}

// Blob is the metadata of a blob. The name is a prefix of those of its parts.
type Blob struct {
	Name   string
	Labels map[string]string
	// Annotations are on all parts, and First only on the first.
	Annotations, First map[string]string
	Owners             []metav1.OwnerReference

	created metav1.Time
	parts   int
}

// selector selects the blobs.
func selector() labels.Set { return labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy} }

// metadata returns an empty object for the metadata of a part.
func metadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision"}}
}

// ByObject returns the options of the manager's cache for the blobs in its namespace.
func ByObject(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{metadata(): {
		Namespaces: map[string]cache.Config{namespace: {}}, Label: labels.SelectorFromSet(selector()),
		Transform: cache.TransformStripManagedFields(),
	}}
}

// key returns the name of a part.
func (s Store) key(name string, part int) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: fmt.Sprintf("%s-%d", name, part)}
}

// List returns the blobs that have an annotation, the newest first. First has all annotations. from
// is the Client or the API.
func (s Store) List(ctx context.Context, from client.Reader, annotation string) ([]Blob, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	if err := from.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels(selector())); err != nil {
		return nil, err
	}
	var all []Blob
	for _, o := range list.Items {
		parts, err := strconv.Atoi(o.Annotations[annotationParts])
		name, first := strings.CutSuffix(o.Name, "-0")
		if o.Annotations[annotation] == "" || err != nil || !first {
			continue // another part, or others made it
		}
		all = append(all, Blob{Name: name, Labels: o.Labels, First: o.Annotations, Owners: o.OwnerReferences, created: o.CreationTimestamp, parts: parts})
	}
	slices.SortFunc(all, func(a, b Blob) int {
		return cmp.Or(b.created.Compare(a.created.Time), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// Save saves the parts of a blob that don't exist.
func (s Store) Save(ctx context.Context, b Blob, data []byte) error {
	parts := slices.Collect(slices.Chunk(data, maxPart))
	// The first part has the metadata and comes last: a blob that lacks a part is not listed.
	for i, part := range slices.Backward(parts) {
		raw, err := json.Marshal(map[string][]byte{s.Field: part})
		if err != nil {
			return err
		}
		key := s.key(b.Name, i)
		object := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name, Labels: selector(), Annotations: map[string]string{}, OwnerReferences: b.Owners,
			},
			Data: runtime.RawExtension{Raw: raw}, Revision: int64(i),
		}
		maps.Copy(object.Labels, b.Labels)
		maps.Copy(object.Annotations, b.Annotations)
		if i == 0 {
			maps.Copy(object.Annotations, b.First)
			object.Annotations[annotationParts] = strconv.Itoa(len(parts))
		}
		if err := s.Client.Create(ctx, object, client.FieldOwner("pequod-manager")); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// Has reports whether the API server has a blob with a name.
func (s Store) Has(ctx context.Context, name string) (bool, error) {
	err := s.API.Get(ctx, s.key(name, 0), metadata())
	return err == nil, client.IgnoreNotFound(err)
}

// Read reads the bytes of the blob with a name. It is a NotFound error if there is none.
func (s Store) Read(ctx context.Context, name string) ([]byte, error) {
	var all []byte
	for i, parts := 0, 1; i < parts; i++ {
		object := &appsv1.ControllerRevision{}
		key := s.key(name, i)
		if err := s.API.Get(ctx, key, object); err != nil {
			return nil, err
		}
		var data map[string][]byte
		if err := json.Unmarshal(object.Data.Raw, &data); err != nil {
			return nil, fmt.Errorf("ControllerRevision %s: %w", key, err)
		}
		if i == 0 {
			var err error
			if parts, err = strconv.Atoi(object.Annotations[annotationParts]); err != nil {
				return nil, fmt.Errorf("ControllerRevision %s: annotation %s: %w", key, annotationParts, err)
			}
		}
		all = append(all, data[s.Field]...)
	}
	return all, nil
}

// Delete deletes a blob that was listed.
func (s Store) Delete(ctx context.Context, b Blob) error {
	// The first part goes first, so that what is left is not listed.
	for i := range b.parts {
		key, object := s.key(b.Name, i), metadata()
		object.Namespace, object.Name = key.Namespace, key.Name
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, object)); err != nil {
			return err
		}
	}
	return nil
}
