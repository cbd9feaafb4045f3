// Package blob keeps bytes in the cluster: the sources of the versions of platforms, and the
// archives of InstanceSources. Every replica of the manager can read them, and they outlive the
// disk of a Pod.
//
// A blob is stored as a ControllerRevision in the namespace of the manager, or as several if it is
// large: its parts. Kubernetes has this kind for the history of controllers, and lets no one change
// the data of a ControllerRevision. The annotations of the first part describe the whole blob, so
// informers keep metadata only.
//
// [Store] is the entry point. Its callers, packages operator/revision and operator/artifact, choose
// the names and the annotations.
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

// MaxPart is the size of the largest part, in bytes. It becomes some 1.2 MB of base64 in JSON; etcd
// accepts 1.5 MiB.
const MaxPart = 900_000

// Store reads and writes the blobs of a namespace.
type Store struct {
	// Client reads the metadata of blobs from informers; see [ByObject].
	Client client.Client
	// API reads from the API server.
	API client.Reader
	// Namespace is the namespace of the manager.
	Namespace string
	// Field is the name of the field with the bytes in the data of a ControllerRevision.
	Field string
}

// Blob is the metadata of a blob. Its parts are named NAME-0, NAME-1 and so on.
type Blob struct {
	Name   string
	Labels map[string]string
	// Annotations are those of all parts, and First more of the first part.
	Annotations, First map[string]string
	Owners             []metav1.OwnerReference

	created metav1.Time
	parts   int
}

// selector selects the blobs.
func selector() labels.Set { return labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy} }

// Metadata returns an empty object for the metadata of a part.
func Metadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision"}}
}

// ByObject returns the options of the manager's cache for the blobs in its namespace.
func ByObject(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{Metadata(): {
		Namespaces: map[string]cache.Config{namespace: {}}, Label: labels.SelectorFromSet(selector()),
		Transform: cache.TransformStripManagedFields(),
	}}
}

// key returns the name of a part.
func (s Store) key(name string, part int) types.NamespacedName {
	return types.NamespacedName{Namespace: s.Namespace, Name: fmt.Sprintf("%s-%d", name, part)}
}

// parts returns the metadata of all parts of all blobs. from is the Client or the API.
func (s Store) parts(ctx context.Context, from client.Reader) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	err := from.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels(selector()))
	return list.Items, err
}

// List returns the blobs that have an annotation on the first part, the newest first, without
// labels and owners. First has all annotations of that part. List makes no request.
func (s Store) List(ctx context.Context, annotation string) ([]Blob, error) {
	parts, err := s.parts(ctx, s.Client)
	if err != nil {
		return nil, err
	}
	var all []Blob
	for _, o := range parts {
		parts, err := strconv.Atoi(o.Annotations[annotationParts])
		name, first := strings.CutSuffix(o.Name, "-0")
		if o.Annotations[annotation] == "" || err != nil || !first {
			continue // another part, or not of this program
		}
		all = append(all, Blob{Name: name, First: o.Annotations, created: o.CreationTimestamp, parts: parts})
	}
	slices.SortFunc(all, func(a, b Blob) int {
		return cmp.Or(b.created.Compare(a.created.Time), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// Save saves the parts of a blob that don't exist.
func (s Store) Save(ctx context.Context, b Blob, data []byte) error {
	parts := slices.Collect(slices.Chunk(data, MaxPart))
	// The first part is written last, so that a blob that lacks a part is not listed.
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
		if err := s.Client.Create(ctx, object, client.FieldOwner(v1alpha1.ManagerProgram)); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// Has reports whether there is a blob with a name and all its parts. from is the Client or the API.
func (s Store) Has(ctx context.Context, from client.Reader, name string) (bool, error) {
	for i, parts := 0, 1; i < parts; i++ {
		part := Metadata()
		if err := from.Get(ctx, s.key(name, i), part); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if i == 0 {
			var err error
			if parts, err = partsOf(part); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// partsOf returns the number of parts of a blob by its first part.
func partsOf(first metav1.Object) (int, error) {
	parts, err := strconv.Atoi(first.GetAnnotations()[annotationParts])
	if err != nil {
		return 0, fmt.Errorf("ControllerRevision %s: annotation %s: %w", client.ObjectKey{Namespace: first.GetNamespace(), Name: first.GetName()}, annotationParts, err)
	}
	return parts, nil
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
			if parts, err = partsOf(object); err != nil {
				return nil, err
			}
		}
		all = append(all, data[s.Field]...)
	}
	return all, nil
}

// Delete deletes a blob that was listed.
func (s Store) Delete(ctx context.Context, b Blob) error {
	// The first part goes first, so that the rest is not listed.
	for i := range b.parts {
		if err := s.delete(ctx, s.key(b.Name, i)); err != nil {
			return err
		}
	}
	return nil
}

// Part is the metadata of a part of a blob.
type Part struct {
	// Blob is the name of the blob.
	Blob        string
	Annotations map[string]string

	name string
	uid  types.UID
}

// Parts returns the parts of all blobs, first parts first. Parts that an interrupted Save or Delete
// has left are among them. from is the Client, which makes no request, or the API.
func (s Store) Parts(ctx context.Context, from client.Reader) ([]Part, error) {
	objects, err := s.parts(ctx, from)
	var all []Part
	for _, o := range objects {
		all = append(all, Part{Blob: o.Name[:max(0, strings.LastIndex(o.Name, "-"))], Annotations: o.Annotations, name: o.Name, uid: o.UID})
	}
	slices.SortFunc(all, func(a, b Part) int { // the names of first parts are the shortest and least
		return cmp.Or(cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	return all, err
}

// Remove deletes parts that were listed, in their order: as in Delete, first parts go first. A part
// that was deleted and saved again since then stays.
func (s Store) Remove(ctx context.Context, parts []Part) error {
	for _, p := range parts {
		if err := s.delete(ctx, types.NamespacedName{Namespace: s.Namespace, Name: p.name}, client.Preconditions{UID: &p.uid}); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes a part, if it exists and satisfies the preconditions.
func (s Store) delete(ctx context.Context, key types.NamespacedName, o ...client.DeleteOption) error {
	object := Metadata()
	object.Namespace, object.Name = key.Namespace, key.Name
	if err := s.Client.Delete(ctx, object, o...); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting ControllerRevision %s: %w", key, err)
	}
	return nil
}
