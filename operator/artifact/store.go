package artifact

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/operator/blob"
)

// The annotations of what is stored. References have all of them, and all parts of an archive only
// annotationArchive. Archives that earlier versions of
// Pequod have saved have only annotationSource.
const (
	// annotationSource is the namespace and name of an InstanceSource.
	annotationSource = v1alpha1.Prefix + "instance-source"
	// annotationArchive is the digest of an archive.
	annotationArchive = v1alpha1.Prefix + "archive"
	// annotationSize is the size of the archive in bytes.
	annotationSize = v1alpha1.Prefix + "archive-size"
)

// MaxSize is the largest archive, in bytes. It takes 12 ControllerRevisions.
const MaxSize = 10 << 20

// Store keeps the archives of all InstanceSources. Only one process at a time may call Save and
// Prune. All methods may be called concurrently.
type Store struct {
	// Client reads the metadata of archives from informers; see [blob.ByObject].
	Client client.Client
	// API reads from the API server.
	API client.Reader
	// Namespace is the namespace of the manager.
	Namespace string
	// NamespaceQuota limits the archives to which the InstanceSources of a namespace refer, and
	// TotalQuota all archives, in bytes. 0 means no limit.
	NamespaceQuota, TotalQuota int64
	// Now is the clock.
	Now func() time.Time

	// mu is held while references and archives are written or deleted. It guards rates.
	mu    sync.Mutex
	rates map[string]*rate.Limiter
}

func (s *Store) blobs() blob.Store {
	return blob.Store{Client: s.Client, API: s.API, Namespace: s.Namespace, Field: "archive"}
}

// digestOf returns the digest of an archive as sha256:HEX.
func digestOf(archive []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(archive)) }

// nameOf returns the name of the blob of an archive.
func nameOf(digest string) string { return "pequod-archive-" + strings.TrimPrefix(digest, "sha256:") }

// The prefixes of blobs of one InstanceSource: references, and archives of earlier versions.
const (
	reference = "pequod-reference"
	former    = "pequod-artifact"
)

// nameFor returns the name of a blob of one InstanceSource.
func nameFor(prefix string, of types.NamespacedName, digest string) string {
	sum := sha256.Sum256([]byte(of.String() + "\x00" + digest))
	return fmt.Sprintf("%s-%x", prefix, sum[:16])
}

// about returns the InstanceSource and the digest in the annotations of a part.
func about(p blob.Part) (source, digest string) {
	return p.Annotations[annotationSource], p.Annotations[annotationArchive]
}

// Save saves an archive of an InstanceSource, unless it is saved. It returns the digest of the
// archive as sha256:HEX. The InstanceSource then has this archive and those with the digests to
// keep, and loses all others. The error is a [*LimitError] if the archive exceeds a quota or a rate;
// then nothing has changed.
func (s *Store) Save(ctx context.Context, of types.NamespacedName, archive []byte, keep ...string) (digest string, err error) {
	if len(archive) > MaxSize {
		return "", fmt.Errorf("the archive is larger than %d MiB", MaxSize>>20)
	}
	digest = digestOf(archive)
	if saved, err := s.Has(ctx, of, digest); err != nil || saved {
		return digest, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	parts, err := s.blobs().Parts(ctx, s.API)
	if err != nil {
		return "", err
	}
	keep = append(slices.Clone(keep), digest)
	if err := s.room(parts, of, digest, int64(len(archive)), keep); err != nil {
		return "", err
	}
	refund, err := s.charge(parts, of, digest, len(archive))
	if err != nil {
		return "", err
	}
	annotations := map[string]string{annotationSource: of.String(), annotationArchive: digest, annotationSize: strconv.Itoa(len(archive))}
	err = s.blobs().Save(ctx, blob.Blob{Name: nameFor(reference, of, digest), Annotations: annotations}, []byte(digest))
	if err == nil {
		err = s.blobs().Remove(ctx, obsolete(parts, of, false, keep))
	}
	if err == nil {
		err = s.blobs().Save(ctx, blob.Blob{Name: nameOf(digest), Annotations: map[string]string{annotationArchive: digest}}, archive)
	}
	if err != nil {
		refund()
		return "", fmt.Errorf("saving the archive %s: %w", digest, err)
	}
	return digest, nil
}

// Has reports whether an archive of an InstanceSource is saved. It asks the API server: informers
// may still show an archive that was deleted.
func (s *Store) Has(ctx context.Context, of types.NamespacedName, digest string) (bool, error) {
	return s.has(ctx, s.API, of, digest)
}

// has is Has. from is the Client or the API.
func (s *Store) has(ctx context.Context, from client.Reader, of types.NamespacedName, digest string) (bool, error) {
	if found, err := s.blobs().Has(ctx, from, nameFor(reference, of, digest)); err != nil || !found {
		return false, err
	}
	return s.blobs().Has(ctx, from, nameOf(digest))
}

// shows reports whether informers show an archive.
func (s *Store) shows(ctx context.Context, of types.NamespacedName, digest string) (bool, error) {
	if found, err := s.has(ctx, s.Client, of, digest); err != nil || found {
		return found, err
	}
	return s.blobs().Has(ctx, s.Client, nameFor(former, of, digest))
}

// Read returns the archive of an InstanceSource with a digest, from the API server. It is a NotFound
// error if there is none, or if only other InstanceSources have it.
func (s *Store) Read(ctx context.Context, of types.NamespacedName, digest string) ([]byte, error) {
	name := nameOf(digest)
	if found, err := s.Has(ctx, of, digest); err != nil {
		return nil, err
	} else if !found {
		name = nameFor(former, of, digest)
	}
	archive, err := s.blobs().Read(ctx, name)
	if err != nil {
		return nil, err
	}
	if got := digestOf(archive); got != digest {
		return nil, fmt.Errorf("the archive %s of InstanceSource %s has the digest %s", digest, of, got)
	}
	return archive, nil
}

// Prune deletes the archives of an InstanceSource, except for those with the digests. It also
// deletes the archives without a reference that an interrupted Save or Prune has left.
func (s *Store) Prune(ctx context.Context, of types.NamespacedName, keep ...string) error {
	if len(keep) > 0 {
		// Informers mostly show that there is nothing to delete. But they may be behind, so nothing is
		// deleted on their word. Without keep, there may be no other occasion to delete what they
		// don't show yet.
		parts, err := s.blobs().Parts(ctx, s.Client)
		if err != nil || len(obsolete(parts, of, true, keep)) == 0 {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	parts, err := s.blobs().Parts(ctx, s.API)
	if err != nil {
		return err
	}
	return s.blobs().Remove(ctx, obsolete(parts, of, true, keep))
}

// obsolete returns the parts to delete if an InstanceSource has only the archives with the digests to
// keep: its other references, if earlier is set also its archives that earlier versions have saved, and
// then the archives without a reference.
func obsolete(parts []blob.Part, of types.NamespacedName, earlier bool, keep []string) []blob.Part {
	var all []blob.Part
	referred := map[string]bool{}
	for _, digest := range keep {
		referred[digest] = true
	}
	for _, p := range parts {
		switch source, digest := about(p); {
		case source == of.String() && (digest == "" && earlier || digest != "" && !slices.Contains(keep, digest)):
			all = append(all, p)
		case source != "":
			referred[digest] = true
		}
	}
	for _, p := range parts {
		if source, digest := about(p); source == "" && digest != "" && !referred[digest] {
			all = append(all, p)
		}
	}
	return all
}

// Owners returns the InstanceSources that have archives, from the cache. It makes requests only until the API server has
// told which kinds it serves.
func (s *Store) Owners(ctx context.Context) ([]types.NamespacedName, error) {
	parts, err := s.blobs().Parts(ctx, s.Client)
	owners := map[types.NamespacedName]bool{}
	for _, p := range parts {
		source, _ := about(p)
		if namespace, name, found := strings.Cut(source, "/"); found {
			owners[types.NamespacedName{Namespace: namespace, Name: name}] = true
		}
	}
	return slices.Collect(maps.Keys(owners)), err
}
