// Package modpath fetches CUE modules by their paths, such as example.com/k8s@v1.2.0.
//
// A path names no registry. The configuration of CUE maps paths to repositories: the
// variable CUE_REGISTRY in all its forms, and registry.cue.works by default. This
// package asks CUE's own code for the repository, and reads the artifact with package
// oci, so that limits, repetitions and messages are those of all artifacts.
// [Logins] adds the credentials of "cue login" to those of Docker and Podman.
//
// [Client.Open] returns the files of a version, and [Client.Latest] finds the newest
// one. The package does not parse imports; package cuemod does. It reads nothing from
// CUE's own cache directory, whose entries have no digest that could be verified.
package modpath

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/module"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
)

// Options configure [New].
type Options struct {
	// Registry is the value of CUE_REGISTRY. "" is CUE's default registry.
	Registry string
	// Artifacts returns a client of registries, by default one without options. plain
	// allows unencrypted connections, as CUE_REGISTRY does with HOST+insecure.
	Artifacts func(plain bool) (oci.Artifacts, error)
	// Digest returns the digest of the manifest that a version must have, or "". nil
	// pins nothing.
	Digest func(v module.Version) (string, error)
	// Records remembers the digests of versions, which never change once they are
	// published. nil remembers nothing.
	Records Records
}

// Records keeps short texts by their keys.
type Records interface {
	Remember(key, value string)
	Recall(key string) (string, bool)
}

// Module is a published module.
type Module struct {
	Version module.Version
	// Digest is the digest of its manifest.
	Digest string
	// Files is read-only and verified, and its root is the root of the module.
	Files fs.FS
}

// Client fetches modules. Any number of goroutines may use it.
type Client struct {
	options  Options
	resolver func() (*modconfig.Resolver, error)
	plain    func() (oci.Artifacts, error)
	secure   func() (oci.Artifacts, error)

	mu      sync.Mutex // guards fetched
	fetched map[module.Version]*fetch
}

// fetch is a module that was fetched, or is being fetched by the holder of mu.
type fetch struct {
	mu     sync.Mutex
	module *Module // nil until it was fetched
}

// New returns a client. It accesses nothing; errors of the configuration are those of
// the first use.
func New(o Options) *Client {
	if o.Artifacts == nil {
		o.Artifacts = func(plain bool) (oci.Artifacts, error) { return oci.New(oci.Options{PlainHTTP: plain}) }
	}
	return &Client{
		options: o,
		resolver: sync.OnceValues(func() (*modconfig.Resolver, error) {
			r, err := modconfig.NewResolver(&modconfig.Config{CUERegistry: o.Registry, Env: []string{}})
			if err != nil {
				return nil, fmt.Errorf("CUE_REGISTRY: %w", err)
			}
			return r, nil
		}),
		plain:   sync.OnceValues(func() (oci.Artifacts, error) { return o.Artifacts(true) }),
		secure:  sync.OnceValues(func() (oci.Artifacts, error) { return o.Artifacts(false) }),
		fetched: map[module.Version]*fetch{},
	}
}

// errNoRegistry is the error of a path that no registry is configured for.
var errNoRegistry = errors.New("CUE_REGISTRY has no registry for it")

// place returns the place of a version, or of all versions of a module if version is
// "". The tag of the latter is the beginning of all tags.
func (c *Client) place(path, version string) (oci.Ref, oci.Artifacts, error) {
	resolver, err := c.resolver()
	if err != nil {
		return oci.Ref{}, nil, err
	}
	loc, ok := resolver.ResolveToLocation(path, version)
	if !ok {
		return oci.Ref{}, nil, errNoRegistry
	}
	open := c.secure
	if loc.Insecure {
		open = c.plain
	}
	artifacts, err := open()
	return oci.Ref{Host: loc.Host, Repository: loc.Repository, Tag: loc.Tag}, artifacts, err
}

// Open fetches a version of a module, once. An error is not remembered.
func (c *Client) Open(ctx context.Context, v module.Version) (*Module, error) {
	c.mu.Lock()
	f := c.fetched[v]
	if f == nil {
		f = &fetch{}
		c.fetched[v] = f
	}
	c.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.module == nil {
		m, err := c.fetch(ctx, v)
		if err != nil {
			return nil, err
		}
		f.module = m
	}
	return f.module, nil
}

// Place returns the reference of a version of a module in its registry.
func (c *Client) Place(v module.Version) (oci.Ref, error) {
	ref, _, err := c.place(v.BasePath(), v.Version())
	return ref, err
}

// Image returns the artifact of a version of a module.
func (c *Client) Image(ctx context.Context, v module.Version) (v1.Image, error) {
	img, _, err := c.image(ctx, v)
	return img, err
}

func (c *Client) fetch(ctx context.Context, v module.Version) (*Module, error) {
	img, ref, err := c.image(ctx, v)
	if err != nil {
		return nil, err
	}
	info, files, err := artifact.Open(img)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	if info.Path != v.Path() {
		return nil, fmt.Errorf("%s: is the module %s", ref, info.Path)
	}
	return &Module{Version: v, Digest: info.Digest, Files: files}, nil
}

// image returns the artifact of a version and its place: the one with the pinned digest,
// else with the digest that the version had before, else with the tag.
func (c *Client) image(ctx context.Context, v module.Version) (v1.Image, oci.Ref, error) {
	digest := ""
	if c.options.Digest != nil {
		var err error
		if digest, err = c.options.Digest(v); err != nil {
			return nil, oci.Ref{}, err
		}
	}
	ref, artifacts, err := c.place(v.BasePath(), v.Version())
	if errors.Is(err, errNoRegistry) && digest != "" {
		img, err := c.kept(ctx, v, digest)
		return img, ref, err
	}
	if err != nil {
		return nil, ref, err
	}
	if digest != "" {
		ref.Digest = digest
		img, err := artifacts.Image(ctx, ref)
		return img, ref, err
	}
	img, err := c.known(ctx, ref, artifacts)
	return img, ref, err
}

// kept returns an artifact that no registry has, if it is on this machine.
func (c *Client) kept(ctx context.Context, v module.Version, digest string) (v1.Image, error) {
	artifacts, err := c.secure()
	if err != nil {
		return nil, err
	}
	// Without a host, no request can be sent.
	img, err := artifacts.Image(ctx, oci.Ref{Repository: v.BasePath(), Digest: digest})
	if err == nil || ctx.Err() != nil || oci.Causes(err, oci.DigestMismatch) || oci.Causes(err, oci.NotFound) {
		return img, err
	}
	return nil, errNoRegistry
}

// known returns the artifact that a tag had before, else the one that it has now.
func (c *Client) known(ctx context.Context, ref oci.Ref, artifacts oci.Artifacts) (v1.Image, error) {
	if c.options.Records == nil {
		return artifacts.Image(ctx, ref)
	}
	key := "module " + ref.String()
	if digest, ok := c.options.Records.Recall(key); ok {
		known := ref
		known.Digest = digest
		img, err := artifacts.Image(ctx, known)
		if err == nil || !oci.Causes(err, oci.NotFound) {
			return img, err
		}
		// The registry has lost it. What it has now is as good as on the first use.
	}
	img, err := artifacts.Image(ctx, ref)
	if err != nil {
		return nil, err
	}
	digest, err := img.Digest()
	if err != nil {
		return nil, err
	}
	c.options.Records.Remember(key, digest.String())
	return img, nil
}

// Latest returns the newest version of a module. path has a major version, as in
// example.com/shop/web@v1. A pre-release is returned only if there is no release.
func (c *Client) Latest(ctx context.Context, path string) (module.Version, error) {
	base, _, _ := strings.Cut(path, "@")
	ref, artifacts, err := c.place(base, "")
	if err != nil {
		return module.Version{}, err
	}
	prefix := ref.Tag
	ref.Tag = ""
	tags, err := artifacts.Tags(ctx, ref)
	if err != nil {
		return module.Version{}, err
	}
	var latest module.Version
	for _, tag := range tags {
		version, ok := strings.CutPrefix(tag, prefix)
		if !ok {
			continue
		}
		// Tags that are no versions, and those of other major versions, are errors.
		v, err := module.NewVersion(path, version)
		if err == nil && v.IsCanonical() && (!latest.IsValid() || newer(v, latest)) {
			latest = v
		}
	}
	if !latest.IsValid() {
		return module.Version{}, fmt.Errorf("%s: has no version of %s", ref, path)
	}
	return latest, nil
}

// newer reports whether v is preferred to w. Releases are preferred to pre-releases.
func newer(v, w module.Version) bool {
	if p, q := strings.Contains(v.Version(), "-"), strings.Contains(w.Version(), "-"); p != q {
		return q
	}
	return v.Compare(w) > 0
}
