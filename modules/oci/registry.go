package oci

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// maxListed limits the tags of a repository and the repositories of a registry that
// are listed. A registry could answer with pages without end.
const maxListed = 100_000

// fallbackPattern matches the tags of lists of referrers, in registries without the API for
// them.
var fallbackPattern = lazyregexp.New(`^sha256-[0-9a-f]{64}$`)

// registry reads and writes artifacts of registries.
type registry struct {
	keychain authn.Keychain
	insecure []name.Option
	options  []remote.Option
	progress Progress
	puller   *remote.Puller
}

// newRegistry returns the registries that transport reaches.
func newRegistry(o Options, transport http.RoundTripper) (*registry, error) {
	r := &registry{keychain: o.Keychain, progress: o.Progress, options: []remote.Option{
		remote.WithAuthFromKeychain(o.Keychain),
		remote.WithTransport(transport),
		remote.WithUserAgent(o.UserAgent),
		// Our transport repeats requests; uploads, whose bodies it can't send again,
		// are repeated by the library.
		remote.WithRetryStatusCodes(),
		remote.WithRetryPredicate(passing),
	}}
	if o.PlainHTTP {
		r.insecure = []name.Option{name.Insecure}
	}
	var err error
	r.puller, err = remote.NewPuller(r.options...)
	return r, err
}

// repository returns the repository of a reference.
func (r *registry) repository(ref Ref) (name.Repository, error) {
	return name.NewRepository(ref.Host+"/"+ref.Repository, r.insecure...)
}

// reference returns the name of an artifact, by its digest if it is known.
func (r *registry) reference(ref Ref) (name.Reference, error) {
	repo, err := r.repository(ref)
	switch {
	case err != nil:
		return nil, err
	case ref.Digest != "":
		return repo.Digest(ref.Digest), nil
	case ref.Tag != "":
		return repo.Tag(ref.Tag), nil
	}
	return nil, &Error{Cause: NotFound, Message: "no version", Hint: fmt.Sprintf("want %s:TAG", ref)}
}

// authenticated reports whether there are credentials for the repository of ref.
func (r *registry) authenticated(ctx context.Context, ref Ref) bool {
	repo, err := r.repository(ref)
	if err != nil {
		return false
	}
	auth, err := authn.Resolve(ctx, r.keychain, repo)
	return err == nil && auth != authn.Anonymous
}

// manifest implements place.
func (r *registry) manifest(ctx context.Context, ref Ref) ([]byte, string, error) {
	n, err := r.reference(ref)
	if err != nil {
		return nil, "", err
	}
	desc, err := r.puller.Get(ctx, n)
	if err != nil {
		return nil, "", err
	}
	return desc.Manifest, string(desc.MediaType), nil
}

// blob implements place.
func (r *registry) blob(ctx context.Context, ref Ref, desc v1.Descriptor) (io.ReadCloser, error) {
	repo, err := r.repository(ref)
	if err != nil {
		return nil, err
	}
	l, err := r.puller.Layer(context.WithValue(ctx, blobKey{}, true), repo.Digest(desc.Digest.String()))
	if err != nil {
		return nil, err
	}
	return l.Compressed()
}

// tags implements place.
func (r *registry) tags(ctx context.Context, ref Ref) ([]string, error) {
	repo, err := r.repository(ref)
	if err != nil {
		return nil, err
	}
	lister, err := r.puller.Lister(ctx, repo)
	if err != nil {
		return nil, err
	}
	var tags []string
	for lister.HasNext() {
		page, err := lister.Next(ctx)
		if err != nil {
			return nil, err
		}
		if tags = append(tags, page.Tags...); len(tags) > maxListed || len(page.Tags) == 0 {
			break
		}
	}
	if len(tags) > maxListed {
		return nil, &Error{Cause: TooLarge, Message: fmt.Sprintf("more than %d tags", maxListed)}
	}
	// A tag is printed and becomes part of references. Lists of referrers are no artifacts.
	return slices.DeleteFunc(tags, func(tag string) bool { return !tagPattern().MatchString(tag) || fallbackPattern().MatchString(tag) }), nil
}

// write implements place. The library writes the manifest after the blobs.
func (r *registry) write(ctx context.Context, ref Ref, img v1.Image) error {
	n, err := r.reference(ref)
	if err != nil {
		return err
	}
	options := append(slices.Clone(r.options), remote.WithContext(ctx))
	if r.progress == nil {
		return remote.Write(n, img, options...)
	}
	updates := make(chan v1.Update, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for u := range updates { // the library closes it
			r.progress.Advance(ref.String(), u.Complete, u.Total)
		}
	}()
	err = remote.Write(n, img, append(options, remote.WithProgress(updates))...)
	<-done
	return err
}

// repositories returns the repositories of a registry whose names begin with prefix.
func (r *registry) repositories(ctx context.Context, host, prefix string) ([]string, error) {
	reg, err := name.NewRegistry(host, r.insecure...)
	if err != nil {
		return nil, err
	}
	lister, err := r.puller.Catalogger(ctx, reg)
	if err != nil {
		return nil, err
	}
	var names []string
	for listed := 0; lister.HasNext(); {
		page, err := lister.Next(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range page.Repos {
			if strings.HasPrefix(n, prefix) {
				names = append(names, n)
			}
		}
		if listed += len(page.Repos); listed > maxListed {
			return nil, &Error{Cause: TooLarge, Message: fmt.Sprintf("more than %d repositories", maxListed)}
		}
		if len(page.Repos) == 0 {
			break
		}
	}
	slices.Sort(names)
	return names, nil
}

// referrers implements place. The library falls back to the tag.
func (r *registry) referrers(ctx context.Context, ref Ref) ([]v1.Descriptor, error) {
	repo, err := r.repository(ref)
	if err != nil {
		return nil, err
	}
	index, err := remote.Referrers(repo.Digest(ref.Digest), append(slices.Clone(r.options), remote.WithContext(ctx), remote.Reuse(r.puller))...)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if n := len(manifest.Manifests); n > maxListed {
		return nil, &Error{Cause: TooLarge, Message: fmt.Sprintf("more than %d referrers", maxListed)}
	}
	return manifest.Manifests, nil
}
