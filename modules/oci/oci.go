// Package oci reads and writes artifacts of registries, OCI layouts and tar files of
// layouts.
//
// A [Ref] names an artifact, and a [Client] reads it as a [v1.Image], the interface of
// the library go-containerregistry: everything that is an artifact is one. The library
// knows the formats and the protocol; this package adds what a user of a registry on
// the internet needs: limits of sizes, repetitions that respect Retry-After, an end of
// connections that hang, and one clear line for each cause of an [Error].
//
// Every byte that leaves the package has the digest and size that its manifest
// promises, and every manifest has the digest of its reference, if that has one.
//
// The package knows nothing of CUE or modules.
package oci

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/internal/httpwait"
)

// Options configure [New]. The zero value reads and writes with the credentials of
// Docker and Podman.
type Options struct {
	// Keychain has the credentials. nil is [authn.DefaultKeychain]: the configuration
	// of Docker with its credential helpers, else that of Podman.
	Keychain authn.Keychain
	// Transport sends the requests. nil is the transport of the library, with CAFile.
	Transport http.RoundTripper
	// CAFile is a PEM file with certificates of authorities that are trusted in
	// addition to those of the system.
	CAFile string
	// PlainHTTP allows unencrypted connections to all hosts. Without it, only hosts
	// that are this machine may be reached without TLS.
	PlainHTTP bool
	// UserAgent is sent to registries, in front of that of the library.
	UserAgent string
	// MaxBlob limits the size of one blob in bytes. 0 is [DefaultMaxBlob].
	MaxBlob int64
	// Blobs keeps blobs and manifests between calls. nil keeps nothing.
	Blobs Blobs
	// Hint returns what to do about an error with a cause in place of the hint for users of the
	// command line, or "". nil keeps all hints.
	Hint func(Cause) string
	// Progress learns of operations and transfers. nil means none.
	Progress Progress

	// timing is for tests. Its zero value is that of programs.
	timing timing
}

// timing has the waits of a client.
type timing struct {
	// wait waits before a repetition, or returns the error of ctx if that ends first.
	wait func(ctx context.Context, d time.Duration) error
	// stall ends a request that transfers no byte for that long.
	stall time.Duration
}

// DefaultMaxBlob is the default limit for one blob, in bytes. Modules are text: large
// ones have some MiB. Blobs are held in memory.
const DefaultMaxBlob = 64 << 20

// Blobs is a store of bytes by their digests.
type Blobs interface {
	// Get returns the bytes with the given digest. If it lacks them, it calls fetch,
	// which verifies them, and keeps them. size is -1 if it is unknown.
	Get(ctx context.Context, digest string, size int64, fetch func(context.Context) (io.ReadCloser, error)) ([]byte, error)
}

// Progress shows what a client does. Its methods are called by any goroutine.
type Progress interface {
	// Begin notes that an operation on an artifact begins.
	Begin(ref string)
	// Advance notes that done of total bytes of a part of the artifact are transferred. total
	// is 0 if it is not known.
	Advance(ref string, done, total int64)
	// End notes that an operation has ended.
	End()
}

// Artifacts reads artifacts, as [Client] and readers around it do.
type Artifacts interface {
	Image(ctx context.Context, ref Ref) (v1.Image, error)
	Tags(ctx context.Context, ref Ref) ([]string, error)
}

// Client reads and writes artifacts. Any number of goroutines may use it.
type Client struct {
	options  Options
	registry *registry
}

// New returns a client. It returns an error if the CA file can't be used.
func New(o Options) (*Client, error) {
	if o.Keychain == nil {
		o.Keychain = authn.DefaultKeychain
	}
	if o.MaxBlob == 0 {
		o.MaxBlob = DefaultMaxBlob
	}
	if o.timing.wait == nil {
		o.timing = timing{wait: httpwait.Wait, stall: stallTimeout}
	}
	transport, err := newTransport(o)
	if err != nil {
		return nil, err
	}
	reg, err := newRegistry(o, transport)
	if err != nil {
		return nil, err
	}
	return &Client{options: o, registry: reg}, nil
}

// place is where artifacts are kept: a repository of a registry, a layout, or an
// archive.
type place interface {
	// manifest returns the manifest that ref names, and its media type. It need not
	// compare digests.
	manifest(ctx context.Context, ref Ref) ([]byte, string, error)
	// blob opens a blob. Its bytes need not be verified.
	blob(ctx context.Context, ref Ref, desc v1.Descriptor) (io.ReadCloser, error)
	// tags returns all tags of the place of ref.
	tags(ctx context.Context, ref Ref) ([]string, error)
	// referrers returns all artifacts whose subject has the digest of ref.
	referrers(ctx context.Context, ref Ref) ([]v1.Descriptor, error)
	// write writes an image and names it ref.Tag. Without a tag, it is found by its digest
	// only.
	write(ctx context.Context, ref Ref, img v1.Image) error
}

// place returns the place of an artifact.
func (c *Client) place(ref Ref) place {
	switch ref.Kind {
	case Layout:
		return directory(ref.File)
	case Archive:
		return archive(ref.File)
	default:
		return c.registry
	}
}

// fail returns err as an [Error] about ref.
func (c *Client) fail(ctx context.Context, ref Ref, err error) error {
	err = classify(ctx, ref, err, func() bool { return c.registry.authenticated(ctx, ref) })
	if failed := (*Error)(nil); c.options.Hint != nil && errors.As(err, &failed) {
		failed.Hint = cmp.Or(c.options.Hint(failed.Cause), failed.Hint)
	}
	return err
}

// begin notes that an operation on ref begins, and returns a function for its end.
func (c *Client) begin(ref Ref) (end func()) {
	if c.options.Progress == nil {
		return func() {}
	}
	c.options.Progress.Begin(ref.String())
	return c.options.Progress.End
}

// Tags returns the tags in the place of ref, sorted as text.
func (c *Client) Tags(ctx context.Context, ref Ref) ([]string, error) {
	ref = ref.Place()
	defer c.begin(ref)()
	tags, err := c.place(ref).tags(ctx, ref)
	if err != nil {
		return nil, c.fail(ctx, ref, err)
	}
	slices.Sort(tags)
	return slices.Compact(tags), nil
}

// Write writes an artifact and all its blobs, and names it by the tag of ref. A reader
// sees either the whole artifact or none: the manifest is written last.
func (c *Client) Write(ctx context.Context, ref Ref, img v1.Image) error {
	defer c.begin(ref)()
	return c.fail(ctx, ref, c.place(ref).write(ctx, ref, img))
}

// Repositories returns the repositories of a registry whose names begin with prefix, as
// far as the registry lists them.
func (c *Client) Repositories(ctx context.Context, host, prefix string) ([]string, error) {
	ref := Ref{Host: host, Repository: strings.TrimSuffix(prefix, "/")}
	defer c.begin(ref)()
	names, err := c.registry.repositories(ctx, host, prefix)
	return names, c.fail(ctx, ref, err)
}
