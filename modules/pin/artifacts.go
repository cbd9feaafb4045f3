package pin

import (
	"bytes"
	"context"
	"io"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
)

// Roots returns a reader of the artifacts that users refer to. Layouts and archives are
// files of the user's, as directories are, so they are not pinned.
func (p *Pins) Roots(a oci.Artifacts) oci.Artifacts {
	return reader{p, a, p.Root, p.recorded.artifacts(&p.recorded.roots)}
}

// Imports returns a reader of the artifacts of imported modules. Their references must
// have the digests that [Pins.Import] returns.
func (p *Pins) Imports(a oci.Artifacts) oci.Artifacts {
	return reader{p, a, func(ref oci.Ref) (string, error) { return ref.Digest, nil }, p.recorded.artifacts(&p.recorded.imported)}
}

// reader reads the artifacts that are pinned.
type reader struct {
	*Pins
	artifacts oci.Artifacts
	digest    func(oci.Ref) (string, error)
	record    func(oci.Ref, v1.Image)
}

// Image implements [oci.Artifacts].
func (r reader) Image(ctx context.Context, ref oci.Ref) (v1.Image, error) {
	if ref.Kind != oci.Registry {
		return r.artifacts.Image(ctx, ref)
	}
	img, err := r.image(ctx, ref)
	if err == nil && r.options.Record {
		r.record(ref, img)
	}
	return img, err
}

// image returns the artifact that ref means.
func (r reader) image(ctx context.Context, ref oci.Ref) (v1.Image, error) {
	digest, err := r.digest(ref)
	if err != nil {
		return nil, err
	}
	tagged := ref
	tagged.Digest = ""
	ref.Digest = digest
	switch {
	case digest == "":
		return r.resolve(ctx, tagged)
	case ref.Tag != "" && !r.options.Offline && !r.options.ByDigest && r.locks(digest) && (r.options.Fresh || !r.options.Vendored.Has(digest) && !r.options.Cache.Has(digest)):
		// Without the tag, a download of the locked digest would hide that the registry
		// now has another artifact for the version.
		if err := r.compare(ctx, tagged, digest); err != nil {
			return nil, err
		}
	}
	return r.artifacts.Image(ctx, ref)
}

// locks reports whether the lock has a digest. Others are pinned by the user, for whom
// the tag is only a comment.
func (r reader) locks(digest string) bool {
	_, ok := r.find(func(f *lock.File) (lock.Module, bool) { return f.Digest(digest) })
	return ok
}

// compare returns an error if a tag is not that of the locked digest. A tag that was
// deleted is no error: the digest may still exist.
func (r reader) compare(ctx context.Context, tagged oci.Ref, locked string) error {
	img, err := r.artifacts.Image(ctx, tagged)
	if oci.Causes(err, oci.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	h, err := img.Digest()
	if err != nil {
		return err
	}
	if h.String() != locked {
		return r.moved(tagged.String(), locked, h.String())
	}
	return nil
}

// resolve returns the artifact that a tag means now, or meant when the cache last saw
// it if there is no network.
func (r reader) resolve(ctx context.Context, tagged oci.Ref) (v1.Image, error) {
	key := "tag " + tagged.String()
	if r.options.Offline {
		digest, ok := r.options.Cache.Recall(key)
		if !ok {
			err := offlineError().(*oci.Error)
			err.Ref = tagged.String()
			return nil, err
		}
		tagged.Digest = digest
		return r.artifacts.Image(ctx, tagged)
	}
	img, err := r.artifacts.Image(ctx, tagged)
	if err != nil {
		return nil, err
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	raw, err := img.RawManifest()
	if err != nil {
		return nil, err
	}
	// A manifest that was found by its tag is not in the cache yet.
	if _, err := r.options.Cache.Get(ctx, digest.String(), int64(len(raw)), func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(raw)), nil
	}); err != nil {
		return nil, err
	}
	r.options.Cache.Remember(key, digest.String())
	return img, nil
}

// Tags implements [oci.Artifacts].
func (r reader) Tags(ctx context.Context, ref oci.Ref) ([]string, error) {
	if r.options.Offline && ref.Kind == oci.Registry {
		return nil, &oci.Error{
			Cause: oci.Unavailable, Ref: ref.String(), Err: errOffline,
			Message: "the newest version is not known, and --offline allows no requests",
			Hint:    "name a version, or write a lock with 'pequod module lock'",
		}
	}
	return r.artifacts.Tags(ctx, ref)
}
