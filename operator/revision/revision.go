// Package revision keeps the sources of the versions of a platform in the cluster, so that
// instances can be rendered with the version that they have after a new one was published:
// during a rollout, while they are pinned, and also by a manager that has lost its disk.
//
// A revision is a ControllerRevision in the namespace of the manager, or several if the sources
// are large. Kubernetes has this kind for the history of controllers, and lets no one change
// the data of one. The metadata says everything but the sources, so that informers need not
// keep them.
//
// A [Store] saves, lists, reads and deletes revisions. It decides nothing: package
// operator/transform saves each version before it is published, and
// operator/rollout/execute deletes the ones that no instance and no rollout needs.
package revision

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// The annotations of a revision.
const (
	// annotationTransform is the namespace and name of the Transform.
	annotationTransform = v1alpha1.Prefix + "transform"
	annotationVersion   = v1alpha1.Prefix + "version" // a catalog.Version as JSON
	annotationParts     = v1alpha1.Prefix + "parts"
)

// maxPart is the largest part of the compressed sources. As base64 in JSON it is some 1.2 MB,
// and etcd takes 1.5 MiB.
const maxPart = 900_000

// Store has the revisions of all platforms.
type Store struct {
	// Client reads the metadata of revisions from informers; see [ByObject].
	Client client.Client
	// API reads from the API server.
	API client.Reader
	// Namespace is the namespace of the manager.
	Namespace string
}

// selector selects the revisions.
func selector() labels.Set { return labels.Set{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy} }

// metadata returns an empty object or list for the metadata of revisions.
func metadata() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision"}}
}

// ByObject returns the options of the manager's cache for revisions in its namespace.
func ByObject(namespace string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{metadata(): {
		Namespaces: map[string]cache.Config{namespace: {}}, Label: labels.SelectorFromSet(selector()),
		Transform: cache.TransformStripManagedFields(),
	}}
}

// stored is a version with the object that has the first part of its sources.
type stored struct {
	catalog.Version
	metav1.PartialObjectMetadata
	parts int
}

// list returns the revisions of a Transform, the newest first.
func (s Store) list(ctx context.Context, transform types.NamespacedName) ([]stored, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels(selector())); err != nil {
		return nil, err
	}
	var all []stored
	for _, o := range list.Items {
		if o.Annotations[annotationTransform] != transform.String() || o.Annotations[annotationVersion] == "" {
			continue
		}
		r := stored{PartialObjectMetadata: o}
		var err error
		if r.parts, err = strconv.Atoi(o.Annotations[annotationParts]); err != nil {
			continue // others made it
		}
		if err := json.Unmarshal([]byte(o.Annotations[annotationVersion]), &r.Version); err == nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b stored) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// List returns the versions of a Transform, the newest first. It makes no request.
func (s Store) List(ctx context.Context, transform types.NamespacedName) ([]catalog.Version, error) {
	all, err := s.list(ctx, transform)
	var versions []catalog.Version
	for _, r := range all {
		versions = append(versions, r.Version)
	}
	return versions, err
}

// Save saves a version of a Transform with its sources, unless it is saved. The Transform owns
// it if both are in one namespace.
func (s Store) Save(ctx context.Context, t *v1alpha1.Transform, v catalog.Version, sources []byte) error {
	transform := client.ObjectKeyFromObject(t)
	all, err := s.list(ctx, transform)
	if err != nil || slices.ContainsFunc(all, func(r stored) bool { return r.Version == v }) {
		return err
	}
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write(sources); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	version, err := json.Marshal(v)
	if err != nil {
		return err
	}
	parts := slices.Collect(slices.Chunk(compressed.Bytes(), maxPart))
	// The first part has the version and comes last: sources that lack a part are not listed.
	for i, part := range slices.Backward(parts) {
		data, err := json.Marshal(map[string][]byte{"sources": part})
		if err != nil {
			return err
		}
		object := &appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: s.Namespace, Name: nameOf(transform, v, i), Labels: selector(),
				Annotations: map[string]string{annotationTransform: transform.String()},
			},
			Data: runtime.RawExtension{Raw: data}, Revision: int64(i),
		}
		object.Labels[v1alpha1.LabelTransform] = v1alpha1.LabelValue(t.Name)
		if i == 0 {
			object.Annotations[annotationVersion], object.Annotations[annotationParts] = string(version), strconv.Itoa(len(parts))
		}
		if t.Namespace == s.Namespace {
			object.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "Transform", Name: t.Name, UID: t.UID,
			}}
		}
		if err := s.Client.Create(ctx, object, client.FieldOwner("pequod-manager")); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("keeping the sources of module %s: %w", v.Module.Digest, err)
		}
	}
	return nil
}

// nameOf returns the name of a part of a revision.
func nameOf(transform types.NamespacedName, v catalog.Version, part int) string {
	sum := sha256.Sum256([]byte(transform.String() + "\x00" + v.Module.Digest + "\x00" + v.Module.Version + "\x00" + v.Digest + "\x00" + v.Policies))
	return fmt.Sprintf("pequod-%x-%d", sum[:16], part)
}

// Read returns the sources with a digest. It is a NotFound error if there are none.
func (s Store) Read(ctx context.Context, transform types.NamespacedName, digest string) ([]byte, error) {
	all, err := s.list(ctx, transform)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(r stored) bool { return r.Digest == digest })
	if i < 0 {
		return nil, apierrors.NewNotFound(appsv1.Resource("controllerrevisions"), digest)
	}
	var compressed []byte
	for part := range all[i].parts {
		object := &appsv1.ControllerRevision{}
		key := types.NamespacedName{Namespace: s.Namespace, Name: nameOf(transform, all[i].Version, part)}
		if err := s.API.Get(ctx, key, object); err != nil {
			return nil, err
		}
		var data map[string][]byte
		if err := json.Unmarshal(object.Data.Raw, &data); err != nil {
			return nil, fmt.Errorf("ControllerRevision %s: %w", key, err)
		}
		compressed = append(compressed, data["sources"]...)
	}
	z, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, err
	}
	// Who reads them compares the digest.
	return io.ReadAll(io.LimitReader(z, protocol.MaxSources+1))
}

// Prune deletes the versions of a Transform that are not kept. Of versions with the same
// module, which differ in policies, only the newest is kept.
func (s Store) Prune(ctx context.Context, transform types.NamespacedName, keep func(catalog.Version) bool) error {
	all, err := s.list(ctx, transform)
	if err != nil {
		return err
	}
	newest := map[string]bool{}
	for _, r := range all {
		if keep(r.Version) && !newest[r.Module.Digest] {
			newest[r.Module.Digest] = true
			continue
		}
		// The first part goes first, so that what is left is not listed.
		for part := range r.parts {
			object := metadata()
			object.Namespace, object.Name = s.Namespace, nameOf(transform, r.Version, part)
			if err := client.IgnoreNotFound(s.Client.Delete(ctx, object)); err != nil {
				return fmt.Errorf("deleting the sources of module %s: %w", r.Module.Digest, err)
			}
		}
	}
	return nil
}
