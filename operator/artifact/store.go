package artifact

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/blob"
)

// The annotations of an archive.
const (
	// annotationSource is the namespace and name of the InstanceSource.
	annotationSource = v1alpha1.Prefix + "instance-source"
	annotationDigest = v1alpha1.Prefix + "digest"
)

// MaxSize is the largest archive, in bytes. It has 12 parts.
const MaxSize = 10 << 20

// Store has the archives of all InstanceSources.
type Store struct {
	// Client reads the metadata of archives from informers; see [blob.ByObject].
	Client client.Client
	// API reads from the API server.
	API client.Reader
	// Namespace is the namespace of the manager.
	Namespace string
}

func (s Store) blobs() blob.Store {
	return blob.Store{Client: s.Client, API: s.API, Namespace: s.Namespace, Field: "archive"}
}

// digestOf returns the digest of an archive as sha256:HEX.
func digestOf(archive []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(archive)) }

// nameOf returns the name of the blob of an archive.
func nameOf(of types.NamespacedName, digest string) string {
	sum := sha256.Sum256([]byte(of.String() + "\x00" + digest))
	return fmt.Sprintf("pequod-artifact-%x", sum[:16])
}

// Save keeps an archive of an InstanceSource, unless it is kept. It returns the digest of the
// archive as sha256:HEX.
func (s Store) Save(ctx context.Context, of types.NamespacedName, archive []byte) (digest string, err error) {
	if len(archive) > MaxSize {
		return "", fmt.Errorf("the archive is larger than %d MiB", MaxSize>>20)
	}
	digest = digestOf(archive)
	// The informer may still show an archive that was deleted.
	if kept, err := s.blobs().Has(ctx, nameOf(of, digest)); err != nil || kept {
		return digest, err
	}
	err = s.blobs().Save(ctx, blob.Blob{
		Name: nameOf(of, digest), Annotations: map[string]string{annotationSource: of.String()}, First: map[string]string{annotationDigest: digest},
	}, archive)
	if err != nil {
		return "", fmt.Errorf("keeping the archive %s: %w", digest, err)
	}
	return digest, nil
}

// Read returns the archive of an InstanceSource with a digest, from the API server. It is a NotFound
// error if there is none.
func (s Store) Read(ctx context.Context, of types.NamespacedName, digest string) ([]byte, error) {
	archive, err := s.blobs().Read(ctx, nameOf(of, digest))
	if err != nil {
		return nil, err
	}
	if got := digestOf(archive); got != digest {
		return nil, fmt.Errorf("the archive %s of InstanceSource %s has the digest %s", digest, of, got)
	}
	return archive, nil
}

// Prune deletes the archives of an InstanceSource, except for those with the digests.
func (s Store) Prune(ctx context.Context, of types.NamespacedName, keep ...string) error {
	from := client.Reader(s.Client)
	if len(keep) == 0 {
		from = s.API // there may be no other occasion to delete what the informer doesn't show yet
	}
	all, err := s.blobs().List(ctx, from, annotationDigest)
	if err != nil {
		return err
	}
	for _, b := range all {
		digest := b.First[annotationDigest]
		if b.First[annotationSource] != of.String() || slices.Contains(keep, digest) {
			continue
		}
		if err := s.blobs().Delete(ctx, b); err != nil {
			return fmt.Errorf("deleting the archive %s: %w", digest, err)
		}
	}
	return nil
}

// Owners returns the InstanceSources that have archives, without a request.
func (s Store) Owners(ctx context.Context) ([]types.NamespacedName, error) {
	all, err := s.blobs().List(ctx, s.Client, annotationDigest)
	var owners []types.NamespacedName
	for _, b := range all {
		namespace, name, found := strings.Cut(b.First[annotationSource], "/")
		of := types.NamespacedName{Namespace: namespace, Name: name}
		if found && !slices.Contains(owners, of) {
			owners = append(owners, of)
		}
	}
	return owners, err
}

// has reports whether informers show an archive.
func (s Store) has(ctx context.Context, of types.NamespacedName, digest string) (bool, error) {
	all, err := s.blobs().List(ctx, s.Client, annotationDigest)
	return slices.ContainsFunc(all, func(b blob.Blob) bool { return b.Name == nameOf(of, digest) }), err
}
