// Package revision keeps the sources of the versions of a platform in the cluster, so that
// instances can be rendered with the version that they have after a new one was published:
// during a rollout, while they are pinned, and also by a manager that has lost its disk.
//
// A revision is stored by package blob, in one or more ControllerRevisions in the namespace of the
// manager. Their annotations describe the version, so only the sources must be read.
//
// A [Store] saves, lists, reads and deletes revisions. It decides nothing: package
// operator/transform saves each version before it is published, and
// operator/rollout/execute deletes the ones that no instance and no rollout needs.
package revision

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/blob"
	"github.com/pequod-io/pequod/operator/catalog"
	"github.com/pequod-io/pequod/operator/worker/protocol"
)

// The annotations of a revision.
const (
	// annotationTransform is the namespace and name of the Transform.
	annotationTransform = v1alpha1.Prefix + "transform"
	annotationVersion   = v1alpha1.Prefix + "version" // a catalog.Version as JSON
)

// Store has the revisions of all platforms.
type Store struct {
	// Client reads the metadata of revisions from informers; see [blob.ByObject].
	Client client.Client
	// API reads from the API server.
	API client.Reader
	// Namespace is the namespace of the manager.
	Namespace string
}

func (s Store) blobs() blob.Store {
	return blob.Store{Client: s.Client, API: s.API, Namespace: s.Namespace, Field: "sources"}
}

// stored is a version with the blob of its sources.
type stored struct {
	catalog.Version
	blob blob.Blob
}

// list returns the revisions of a Transform, the newest first.
func (s Store) list(ctx context.Context, transform types.NamespacedName) ([]stored, error) {
	blobs, err := s.blobs().List(ctx, annotationVersion)
	var all []stored
	for _, b := range blobs {
		if b.First[annotationTransform] != transform.String() {
			continue
		}
		r := stored{blob: b}
		if err := json.Unmarshal([]byte(b.First[annotationVersion]), &r.Version); err == nil {
			all = append(all, r)
		}
	}
	return all, err
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
	b := blob.Blob{
		Name: nameOf(transform, v), Labels: map[string]string{v1alpha1.LabelTransform: v1alpha1.LabelValue(t.Name)},
		Annotations: map[string]string{annotationTransform: transform.String()}, First: map[string]string{annotationVersion: string(version)},
	}
	if t.Namespace == s.Namespace {
		b.Owners = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Transform", Name: t.Name, UID: t.UID}}
	}
	if err := s.blobs().Save(ctx, b, compressed.Bytes()); err != nil {
		return fmt.Errorf("keeping the sources of module %s: %w", v.Module.Digest, err)
	}
	return nil
}

// nameOf returns the name of the blob of a revision.
func nameOf(transform types.NamespacedName, v catalog.Version) string {
	sum := sha256.Sum256([]byte(transform.String() + "\x00" + v.Module.Digest + "\x00" + v.Module.Version + "\x00" + v.Digest + "\x00" + v.Policies))
	return fmt.Sprintf("pequod-%x", sum[:16])
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
	compressed, err := s.blobs().Read(ctx, all[i].blob.Name)
	if err != nil {
		return nil, err
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
		if err := s.blobs().Delete(ctx, r.blob); err != nil {
			return fmt.Errorf("deleting the sources of module %s: %w", r.Module.Digest, err)
		}
	}
	return nil
}
