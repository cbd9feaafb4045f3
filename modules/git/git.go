// Package git reads revisions of remote git repositories, as an fs.FS in memory.
//
// The entry point is [Fetch]. It makes a shallow fetch of one commit: no history, no
// checkout, and nothing on disk but the cache. Submodules are not fetched, and of git's configuration
// only the environment's proxies apply.
//
//   - ref.go: references
//   - revision.go: the commit that a reference means
//   - pins.go: locked commits, and the cache
//   - transport.go: connections, and the user's credentials
//   - silence.go: servers that send nothing, by ssh
//   - auth.go: credentials that callers give
//   - pack.go: limits and objects of what the server sends
//   - error.go: errors by cause
//
// The package knows nothing of CUE.
package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/oci"
)

// Options configure [Fetch]. The zero value is ready to use.
type Options struct {
	// Offline allows no requests. Repositories on this machine's disk are read all the same.
	Offline bool
	// Fresh asks the server for each tag and branch, even if the cache has the locked
	// commit, and so finds those that were moved.
	Fresh bool
	// Pins decide which commits may be read. nil allows all.
	Pins Pins
	// Cache keeps packs, and the commits of tags and branches for Offline. nil keeps
	// nothing.
	Cache *cache.Cache
	// Transport sends HTTP requests. nil is the default one.
	Transport http.RoundTripper
	// Progress learns of fetches. nil means none.
	Progress oci.Progress
	// Netrc is the file with credentials for HTTP. "" is $NETRC, or .netrc in the home
	// directory.
	Netrc string
	// Auth replaces the credentials of the user: nothing of their files and ssh agent is
	// used then. nil is those of the user.
	Auth *Auth

	// answerTimeout replaces the constant in tests. 0 means the constant.
	answerTimeout time.Duration
}

// Snapshot is a revision of a repository.
type Snapshot struct {
	// Commit is the full name of the commit.
	Commit string
	// Tag is the tag that the reference named, or "".
	Tag string

	objects objects
	tree    plumbing.Hash
}

// Files returns all files of the revision. Links that leave the repository are errors.
// shown returns the user's name for a file, for errors.
func (s *Snapshot) Files(shown func(name string) string) *gitfs.Tree {
	return gitfs.New(s.objects, s.tree.String(), shown)
}

// Version returns the tag, or the beginning of the commit.
func (s *Snapshot) Version() string {
	if s.Tag != "" {
		return s.Tag
	}
	return s.Commit[:12]
}

// Fetch reads a revision into memory. Its errors are an [oci.Error], a [github.com/pequod-io/pequod/internal/problem.List] if a
// rule refuses the reference, or that of ctx.
func Fetch(ctx context.Context, ref Ref, o Options) (*Snapshot, error) {
	target, err := o.target(ref)
	if err != nil {
		return nil, err
	}
	s, err := o.read(ctx, ref, target)
	if err == nil && o.Pins != nil {
		err = o.Pins.Check(ref, s)
	}
	return s, err
}

// read returns a revision of the cache, or fetches it.
func (o Options) read(ctx context.Context, ref Ref, target Target) (*Snapshot, error) {
	if target.Commit != "" && (!o.Fresh || ref.Pinned() || o.offline(ref)) {
		if s := o.kept(ctx, target); s != nil {
			return s, nil
		}
	}
	if o.offline(ref) {
		return nil, &oci.Error{
			Cause: oci.Unavailable, Ref: ref.String(),
			Message: "not in the cache, and --offline allows no requests",
			Hint:    "run the command once without --offline, or use a mirror on disk with git::file:///DIR",
		}
	}
	type result struct {
		snapshot *Snapshot
		err      error
	}
	// The library connects by ssh without a context, so a hanging server must not
	// keep the caller. The connection then ends after the time without a byte.
	done := make(chan result, 1)
	if o.Progress != nil {
		o.Progress.Begin(ref.String())
		defer o.Progress.End()
	}
	go func() {
		var r result
		// Parsers of what a server sent must not end the program.
		defer func() {
			if p := recover(); p != nil {
				done <- result{err: fmt.Errorf("reading the answer: panic: %v", p)}
			}
		}()
		r.err = oci.Repeat(ctx, func() (err error) {
			heard := &heard{at: time.Now()}
			r.snapshot, err = o.fetch(ctx, ref, target, heard)
			return o.explain(ref, heard, err)
		})
		done <- r
	}()
	select {
	case <-ctx.Done():
		return nil, classify(ctx, ref, o.Auth, ctx.Err())
	case r := <-done:
		return r.snapshot, classify(ctx, ref, o.Auth, r.err)
	}
}

// fetch reads a revision of the server. target is the locked one, if there is one.
func (o Options) fetch(ctx context.Context, ref Ref, target Target, heard *heard) (*Snapshot, error) {
	session, err := o.connect(ref, heard)
	if err != nil {
		return nil, err
	}
	defer session.Close() // it was only used for reading
	heard.at = time.Now()
	advertised, err := session.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, err
	}
	heard.at = time.Now()
	want, tag, err := resolve(ref, advertised)
	if target.Commit != "" && !ref.Pinned() {
		tag = target.Tag
		want, err = o.hold(ref, target, advertised, want, err)
	}
	if err != nil {
		return nil, err
	}
	now := Target{peeled(advertised, want), tag}
	if o.Cache != nil && target.Commit == "" {
		o.Cache.Remember(keyOf(ref), now.Commit+" "+tag)
	}
	if s := o.kept(ctx, now); s != nil {
		return s, nil
	}
	pack, err := o.download(ctx, session, advertised, ref, want, heard)
	if err != nil {
		return nil, err
	}
	s, err := snapshot(pack, want, tag)
	if err == nil {
		o.keep(ctx, s, pack)
	}
	return s, err
}

// snapshot returns the revision in a pack. object is the name of its commit or of a tag.
func snapshot(pack []byte, object plumbing.Hash, tag string) (*Snapshot, error) {
	objects, err := unpack(pack)
	if err != nil {
		return nil, err
	}
	commit, tree, err := objects.commit(object)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Commit: commit.String(), Tag: tag, objects: objects, tree: tree}, nil
}

// download returns the pack with a commit and its files, without its history.
func (o Options) download(ctx context.Context, s transport.UploadPackSession, advertised *packp.AdvRefs, ref Ref, want plumbing.Hash, heard *heard) ([]byte, error) {
	req := packp.NewUploadPackRequestFromCapabilities(advertised.Capabilities)
	req.Capabilities.Delete(capability.ThinPack) // there are no objects that it could build on
	req.Wants = []plumbing.Hash{want}
	if advertised.Capabilities.Supports(capability.Shallow) {
		req.Depth = packp.DepthCommits(1)
		if err := req.Capabilities.Set(capability.Shallow); err != nil {
			return nil, err
		}
	}
	response, err := s.UploadPack(ctx, req)
	if err != nil {
		return nil, err
	}
	defer response.Close() // it was only used for reading
	var content io.Reader = io.TeeReader(response, heard)
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		content = sideband.NewDemuxer(sideband.Sideband64k, content)
	case req.Capabilities.Supports(capability.Sideband):
		content = sideband.NewDemuxer(sideband.Sideband, content)
	}
	if o.Progress != nil {
		content = io.TeeReader(content, &counter{o.Progress, ref.String(), 0})
	}
	var pack bytes.Buffer
	if _, err := io.Copy(&pack, io.LimitReader(content, maxPack+1)); err != nil {
		return nil, err
	}
	if pack.Len() > maxPack {
		return nil, errLargePack
	}
	return pack.Bytes(), nil
}

// counter counts what is written to it.
type counter struct {
	progress oci.Progress
	name     string
	done     int64
}

// Write implements io.Writer. The size of a pack is not known before its end.
func (c *counter) Write(p []byte) (int, error) {
	c.done += int64(len(p))
	c.progress.Advance(c.name, c.done, 0)
	return len(p), nil
}
