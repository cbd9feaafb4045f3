// Package pin decides which artifact a reference to a module means: the one in
// pequod.lock, the one in the cache, or the one that the registry has now.
//
// [New] joins the lock, the cache and the wishes of the user. [Pins.Roots] returns a
// reader of artifacts for the references that users write, and [Pins.Imports] one for
// the modules that these import; [Pins.Import] has the digests of the latter. Without
// a network, [Pins.Transport] refuses every request, so the promise of --offline does
// not depend on the code that asks.
package pin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/vendored"
)

// Options configure [New]. The zero value pins nothing.
type Options struct {
	// Lock has the modules that may be loaded and their digests. nil is no lock.
	Lock *lock.File
	// LockName is the name of the lock's file in messages.
	LockName string
	// Locked refuses all modules that Lock does not have.
	Locked bool
	// Fresh asks the registry for each tag, even if the cache has the artifact that
	// the lock names, and so finds tags that were moved.
	Fresh bool
	// ByDigest reads the artifacts of Lock by their digests, wherever their tags are now.
	// Lock need not have revisions of git that a reference names by their commits.
	ByDigest bool
	// Offline allows no requests.
	Offline bool
	// Cache keeps artifacts, and the digests of tags for Offline.
	Cache *cache.Cache
	// Vendored has modules that Lock names, which are then neither read from Cache nor
	// downloaded. It may be nil.
	Vendored *vendored.Tree
	// Record keeps the artifacts that are read for [Pins.Recorded].
	Record bool
}

// Pins are the decisions of one run of a program. They are safe for concurrent use.
type Pins struct {
	options  Options
	recorded recording
}

// New returns the pins for o.
func New(o Options) *Pins {
	if o.Cache == nil {
		o.Cache = cache.Open(cache.Options{})
	}
	return &Pins{options: o}
}

// Root returns the digest of a reference that a user wrote, or "" if nothing pins it. Its
// errors are a [problem.List].
func (p *Pins) Root(ref oci.Ref) (string, error) {
	written := ref
	written.Digest = ""
	m, ok := p.find(func(f *lock.File) (lock.Module, bool) { return f.Root(written.String()) })
	switch {
	case ok && ref.Digest != "" && ref.Digest != m.Digest:
		return "", p.refuse(fmt.Sprintf("%s: %s is locked, not %s", written, m.Digest, ref.Digest))
	case ok:
		return m.Digest, nil
	}
	return ref.Digest, p.missing(written.String())
}

// Import returns the digest of a module that other modules import, or "" if nothing pins
// it. path has the major version. Its errors are a [problem.List].
func (p *Pins) Import(path, version string) (string, error) {
	if p.options.Record {
		record(&p.recorded, &p.recorded.imports, [2]string{path, version}, true)
	}
	m, ok := p.find(func(f *lock.File) (lock.Module, bool) { return f.Import(path, version) })
	if ok {
		return m.Digest, nil
	}
	return "", p.missing(lock.Module{Path: path, Version: version}.Name())
}

// Latest returns the locked version of a reference that has only a major version, such as
// example.com/web@v1, or "" if nothing pins it. Its errors are a [problem.List].
func (p *Pins) Latest(ref string) (string, error) {
	m, ok := p.find(func(f *lock.File) (lock.Module, bool) { return f.Root(ref) })
	if ok {
		p.RecordLatest(ref, m.Version)
		return m.Version, nil
	}
	return "", p.missing(ref)
}

// RecordLatest records that the newest version of a reference with a major version only
// was asked for.
func (p *Pins) RecordLatest(ref, version string) {
	if p.options.Record {
		record(&p.recorded, &p.recorded.latest, ref, version)
	}
}

// Recording reports whether Options.Record is set.
func (p *Pins) Recording() bool { return p.options.Record }

// Cache returns the cache.
func (p *Pins) Cache() *cache.Cache { return p.options.Cache }

// find looks an entry up in the lock.
func (p *Pins) find(look func(*lock.File) (lock.Module, bool)) (lock.Module, bool) {
	if p.options.Lock == nil {
		return lock.Module{}, false
	}
	return look(p.options.Lock)
}

// missing returns the error about a module that the lock doesn't have, or nil if it need
// not have it.
func (p *Pins) missing(name string) error {
	switch {
	case !p.options.Locked:
		return nil
	case p.options.Lock == nil:
		return problem.List{{
			Rule: problem.RuleLock, Message: fmt.Sprintf("%s: there is no %s, which --locked and CI=true demand", name, lock.FileName),
			Hint: "write it with 'pequod module lock'",
		}}
	}
	list := p.refuse(name + " is not locked")
	list[0].Hint = "add it with 'pequod module lock'"
	return list
}

// refuse returns an error about the lock.
func (p *Pins) refuse(message string) problem.List {
	return problem.List{{Position: problem.Position{File: p.options.LockName}, Rule: problem.RuleLock, Message: message}}
}

// errOffline is the error of all requests that --offline refuses.
var errOffline = errors.New("--offline allows no requests")

// offlineError returns the error about content that the cache lacks.
func offlineError() error {
	return &oci.Error{Cause: oci.Unavailable, Err: errOffline, Message: "not in the cache, and --offline allows no requests", Hint: "run the command once without --offline"}
}

// Blobs returns the store for a client of registries.
func (p *Pins) Blobs() oci.Blobs {
	return blobs{p.options.Vendored, p.options.Cache, p.options.Offline}
}

// blobs are the vendored modules and the cache, which downloads nothing if offline is set.
type blobs struct {
	vendored *vendored.Tree
	cache    *cache.Cache
	offline  bool
}

// Get implements oci.Blobs.
func (b blobs) Get(ctx context.Context, digest string, size int64, fetch func(context.Context) (io.ReadCloser, error)) ([]byte, error) {
	data, ok, err := b.vendored.Get(digest)
	if err != nil {
		return nil, vendoredError(err)
	}
	if ok {
		return data, nil
	}
	if b.offline {
		fetch = func(context.Context) (io.ReadCloser, error) { return nil, offlineError() }
	}
	return b.cache.Get(ctx, digest, size, fetch)
}

// vendoredError returns an error of a vendored module by its cause.
func vendoredError(err error) error {
	cause := oci.Unavailable
	if changed := (*vendored.ChangedError)(nil); errors.As(err, &changed) {
		cause = oci.DigestMismatch
	}
	if missing := (*vendored.MissingError)(nil); errors.As(err, &missing) {
		cause = oci.NotFound
	}
	message, hint := err.Error(), ""
	if text, cured := strings.CutSuffix(message, "; "+vendored.Repair); cured {
		message, hint = text, vendored.Repair
	}
	return &oci.Error{Cause: cause, Message: message, Hint: hint, Err: err}
}

// Transport returns the transport for a client of registries: nil, which is the
// default one, or one that refuses every request.
func (p *Pins) Transport() http.RoundTripper {
	if p.options.Offline {
		return refusing{}
	}
	return nil
}

// refusing is a transport without a network.
type refusing struct{}

// RoundTrip implements http.RoundTripper.
func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errOffline }
