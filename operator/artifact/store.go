package artifact

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/blob"
)

// annotationSource is the annotation with the namespace and name of the InstanceSource.
const annotationSource = v1alpha1.Prefix + "instance-source"

// MaxSize is the largest archive, in bytes. It takes 12 ControllerRevisions.
const MaxSize = 10 << 20

// Store keeps the archives of all InstanceSources.
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

// Save saves an archive of an InstanceSource, unless it is saved. It returns the digest of the
// archive as sha256:HEX.
func (s Store) Save(ctx context.Context, of types.NamespacedName, archive []byte) (digest string, err error) {
	if len(archive) > MaxSize {
		return "", fmt.Errorf("the archive is larger than %d MiB", MaxSize>>20)
	}
	digest = digestOf(archive)
	if saved, err := s.Has(ctx, of, digest); err != nil || saved {
		return digest, err
	}
	err = s.blobs().Save(ctx, blob.Blob{Name: nameOf(of, digest), Annotations: map[string]string{annotationSource: of.String()}}, archive)
	if err != nil {
		return "", fmt.Errorf("saving the archive %s: %w", digest, err)
	}
	return digest, nil
}

// Has reports whether an archive of an InstanceSource is saved. It asks the API server: informers
// may still show an archive that was deleted.
func (s Store) Has(ctx context.Context, of types.NamespacedName, digest string) (bool, error) {
	return s.blobs().Has(ctx, s.API, nameOf(of, digest))
}

// shows reports whether informers show an archive.
func (s Store) shows(ctx context.Context, of types.NamespacedName, digest string) (bool, error) {
	return s.blobs().Has(ctx, s.Client, nameOf(of, digest))
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

// Prune deletes the archives of an InstanceSource, except for those with the digests. No archive of
// the InstanceSource may be saved at the same time.
func (s Store) Prune(ctx context.Context, of types.NamespacedName, keep ...string) error {
	from := client.Reader(s.Client)
	if len(keep) == 0 {
		from = s.API // there may be no other occasion to delete what the informer doesn't show yet
	}
	var names []string
	for _, digest := range keep {
		names = append(names, nameOf(of, digest))
	}
	return s.blobs().Prune(ctx, from, annotationSource, of.String(), names...)
}

// Owners returns the InstanceSources that have archives, without a request.
func (s Store) Owners(ctx context.Context) ([]types.NamespacedName, error) {
	values, err := s.blobs().Values(ctx, annotationSource)
	var owners []types.NamespacedName
	for _, value := range values {
		if namespace, name, found := strings.Cut(value, "/"); found {
			owners = append(owners, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	return owners, err
}
