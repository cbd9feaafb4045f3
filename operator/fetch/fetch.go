// Package fetch opens the modules of Transforms in a cluster.
//
// [Fetcher.Fetch] is the entry point. It opens the module and the policies of a Transform with
// the credentials that the Transform names, verifies their signatures if it demands that, and
// returns the encoded sources. Nothing is evaluated. [Reason] returns the cause of an error as
// one of a few words for conditions.
//
// A Transform reaches nothing that belongs to others: it uses Secrets and ConfigMaps of its
// own namespace only, none of the credentials of the process, no files, and of the cache on
// disk only what its namespace has downloaded.
//
//   - fetch.go: one fetch
//   - reference.go: which references are allowed, and how each is opened
//   - organization.go: policies that every platform has, whatever its Transform says
//   - verify.go: signatures
//   - reason.go: causes of errors
package fetch

import (
	"cmp"
	"context"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/credentials"
)

// Client reads objects of a cluster. Its account may get Secrets and ConfigMaps in the
// namespaces of Transforms.
type Client interface {
	credentials.Client
	typedcorev1.ConfigMapsGetter
}

// Options configure a [Fetcher]. Client is required.
type Options struct {
	Client Client
	// Cache is where downloads are kept. Its scope is the namespace of the Transform. The zero
	// value keeps nothing.
	Cache cache.Options
	// Registry is the value of CUE_REGISTRY, for the modules that others import. "" is CUE's
	// default registry.
	Registry string
	// UserAgent is sent to registries.
	UserAgent string
	// Timeout is the limit of one fetch, with all repetitions of requests. The default is
	// 2 min.
	Timeout time.Duration
	// Organization are policies that every platform has.
	Organization Organization
	// Fetched is called for each module that was opened or could not be, as in
	// [modules.Options]. It may be nil.
	Fetched func(source v1alpha1.CueRefType, took time.Duration, err error)
}

// Fetcher fetches the modules of Transforms. Any number of goroutines may use it.
type Fetcher struct{ Options }

// New returns a Fetcher.
func New(o Options) *Fetcher {
	o.Timeout = cmp.Or(o.Timeout, 2*time.Minute)
	if o.Cache.Counters == nil {
		o.Cache.Counters = &cache.Counters{}
	}
	return &Fetcher{o}
}

// CacheStats returns the counters of the cache, and what its directory has now.
func (f *Fetcher) CacheStats() cache.Stats {
	c := cache.Open(f.Cache)
	defer c.Close()
	return c.Stats()
}

// Fetched are the sources of a platform.
type Fetched struct {
	// Sources are the encoded module and policies, and Digest is the digest of these bytes,
	// as sha256:HEX. They are the same as before if nothing has changed.
	Sources []byte
	Digest  string
	// Ref locates exactly the content of the module, or is "" for modules that are in the
	// program or in the cluster.
	Ref string
	// Moving means that a reference can refer to other content later.
	Moving bool
}

// Fetch opens the module and the policies of a Transform, and returns their sources. It may
// be called again at any time: what the cache has is not downloaded again, so that a fetch of
// a tag or a branch which has not moved costs a request or two.
//
// Its errors have a [Reason].
func (f *Fetcher) Fetch(ctx context.Context, t *v1alpha1.Transform) (*Fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	s := &session{Fetcher: f, namespace: t.Namespace}
	s.cache = f.cacheOf(t.Namespace)
	// Content in use is not evicted. The sources are in memory when it is closed.
	defer s.cache.Close()
	opener := &modules.Opener{Of: s.options}
	sources, err := transform.Open(ctx, opener, t.Name, t.Spec, func(path string) modules.Place {
		return modules.Place{Namespace: t.Namespace, Inline: &inline.Origin{Name: inlineField(path, t.Spec)}}
	})
	if err != nil {
		return nil, err
	}
	sources.From = "transform/" + t.Name
	shared := f.cacheOf(f.Organization.Namespace)
	defer shared.Close()
	moving, err := f.addOrganization(ctx, sources, shared)
	if err != nil {
		return nil, err
	}
	data, err := sources.Encode()
	if err != nil {
		return nil, err
	}
	return &Fetched{Sources: data, Digest: transform.Digest(data), Ref: exact(t.Spec.CueRef, sources.Module), Moving: moving || Moving(t.Spec)}, nil
}

// cacheOf opens the part of the cache that a namespace has.
func (f *Fetcher) cacheOf(namespace string) *cache.Cache {
	scoped := f.Cache
	scoped.Scope = namespace
	return cache.Open(scoped)
}

// inlineField returns the field that has the source of an inline module.
func inlineField(path string, spec v1alpha1.TransformSpec) string {
	if transform.References(spec)[path].Ref == "" {
		return fieldpath.Join(path, "files")
	}
	return fieldpath.Join(path, "ref")
}

// exact returns the reference that always means the given content, or "".
func exact(ref v1alpha1.CueRef, opened transform.Source) string {
	switch ref.Type {
	case v1alpha1.CueRefOCI:
		if r, err := oci.ParseRef(ref.Ref); err == nil && opened.Manifest != "" {
			r.Digest = opened.Manifest
			return r.String()
		}
	case v1alpha1.CueRefGit:
		if r, err := git.ParseRef(ref.Ref); err == nil && opened.Commit != "" {
			r.Revision = opened.Commit
			return r.String()
		}
	}
	return ""
}

// Moving reports whether a reference of a Transform can mean other content later: a tag, a
// branch, or a ConfigMap, without a digest of the module.
func Moving(spec v1alpha1.TransformSpec) bool {
	for _, ref := range transform.References(spec) {
		if canMove(ref) {
			return true
		}
	}
	return false
}

func canMove(ref v1alpha1.CueRef) bool {
	if ref.Digest != "" {
		return false
	}
	switch ref.Type {
	case v1alpha1.CueRefOCI:
		r, err := oci.ParseRef(ref.Ref)
		return err == nil && r.Digest == ""
	case v1alpha1.CueRefGit:
		r, err := git.ParseRef(ref.Ref)
		return err == nil && !r.Pinned()
	case v1alpha1.CueRefConfigMap:
		return true
	}
	return false
}
