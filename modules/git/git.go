// Package git reads revisions of remote git repositories, as an fs.FS in memory.
//
// The entry point is [Fetch]. It makes a shallow fetch of one commit: no history, no
// checkout, and nothing on disk. Submodules are not fetched, and of git's configuration
// only the environment's proxies apply.
//
//   - ref.go: references
//   - revision.go: the commit that a reference means
//   - transport.go: connections and credentials
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

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/sideband"
	"github.com/go-git/go-git/v5/plumbing/transport"

	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/oci"
)

// Options configure [Fetch]. The zero value is ready to use.
type Options struct {
	// Offline refuses all repositories that are not on this machine's disk.
	Offline bool
	// Locked refuses references without a commit: pequod.lock has no entries for git.
	Locked bool
	// Transport sends HTTP requests. nil is the default one.
	Transport http.RoundTripper
	// Netrc is the file with credentials for HTTP. "" is $NETRC, or .netrc in the home
	// directory.
	Netrc string
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

// Fetch reads a revision into memory. Its errors are an [oci.Error], a [problem.List] if a
// rule refuses the reference, or that of ctx.
func Fetch(ctx context.Context, ref Ref, o Options) (*Snapshot, error) {
	if err := o.allow(ref); err != nil {
		return nil, err
	}
	type result struct {
		snapshot *Snapshot
		err      error
	}
	// The library connects by ssh without a context, so a hanging server must not
	// keep the caller. The connection then ends with its own time limit.
	done := make(chan result, 1)
	go func() {
		s, err := o.fetch(ctx, ref)
		done <- result{s, err}
	}()
	select {
	case <-ctx.Done():
		return nil, classify(ctx, ref, ctx.Err())
	case r := <-done:
		return r.snapshot, classify(ctx, ref, r.err)
	}
}

// allow returns an error for a reference that the options refuse.
func (o Options) allow(ref Ref) error {
	switch {
	case o.Locked && !ref.Pinned():
		return problem.List{{
			Rule: problem.RuleLock, Message: fmt.Sprintf("%s is not locked: pequod.lock has no entries for git repositories", ref),
			Hint: "name the full commit, as ?ref=COMMIT with 40 hex digits",
		}}
	case o.Offline && ref.URL.Scheme != "file":
		return &oci.Error{
			Cause: oci.Unavailable, Ref: ref.String(),
			Message: "git repositories are not in the cache, and --offline allows no requests; use a mirror on disk with git::file:///DIR",
		}
	}
	return nil
}

// fetch reads a revision.
func (o Options) fetch(ctx context.Context, ref Ref) (*Snapshot, error) {
	s, err := o.connect(ref)
	if err != nil {
		return nil, err
	}
	defer s.Close() // it was only used for reading
	advertised, err := s.AdvertisedReferencesContext(ctx)
	if err != nil {
		return nil, err
	}
	want, tag, err := resolve(ref, advertised)
	if err != nil {
		return nil, err
	}
	pack, err := download(ctx, s, advertised, want)
	if err != nil {
		return nil, err
	}
	objects, err := unpack(pack)
	if err != nil {
		return nil, err
	}
	commit, tree, err := objects.commit(want)
	if err != nil {
		return nil, err
	}
	return &Snapshot{Commit: commit.String(), Tag: tag, objects: objects, tree: tree}, nil
}

// download returns the pack with a commit and its files, without its history.
func download(ctx context.Context, s transport.UploadPackSession, advertised *packp.AdvRefs, want plumbing.Hash) ([]byte, error) {
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
	var content io.Reader = response
	switch {
	case req.Capabilities.Supports(capability.Sideband64k):
		content = sideband.NewDemuxer(sideband.Sideband64k, response)
	case req.Capabilities.Supports(capability.Sideband):
		content = sideband.NewDemuxer(sideband.Sideband, response)
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
