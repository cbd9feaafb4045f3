package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"

	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/oci"
)

// Target is the commit that a reference means.
type Target struct {
	// Commit is the full name of the commit.
	Commit string
	// Tag is the tag that the reference names, or "".
	Tag string
}

// Pins decide which commits may be read, as pequod.lock does.
type Pins interface {
	// Target returns the locked target of a reference, or the zero value if nothing locks
	// it. An error refuses the reference.
	Target(ref Ref) (Target, error)
	// Moved returns the error about a tag or branch that is not at its locked commit.
	Moved(ref Ref, locked, now string) error
	// Check is called with each revision that was read. An error refuses it.
	Check(ref Ref, s *Snapshot) error
}

// target returns what is known of a reference without a request, or the zero value.
func (o Options) target(ref Ref) (Target, error) {
	if o.Pins != nil {
		if t, err := o.Pins.Target(ref); err != nil || t.Commit != "" {
			return t, err
		}
	}
	if ref.Pinned() {
		return Target{Commit: ref.Revision}, nil
	}
	if o.Cache != nil && o.offline(ref) {
		value, _ := o.Cache.Recall(keyOf(ref))
		commit, tag, _ := strings.Cut(value, " ")
		return Target{commit, tag}, nil
	}
	return Target{}, nil
}

// offline reports whether no request may be sent for a reference.
func (o Options) offline(ref Ref) bool { return o.Offline && ref.URL.Scheme != "file" }

// keyOf returns the key of the cache for what a reference meant when it was last seen.
func keyOf(ref Ref) string {
	ref.Dir = "."
	return "git " + ref.String()
}

// hold returns the object to fetch for a locked reference. now is the object that the
// reference means on the server, and missing the error if it means none.
func (o Options) hold(ref Ref, locked Target, advertised *packp.AdvRefs, now plumbing.Hash, missing error) (plumbing.Hash, error) {
	if missing != nil && !oci.Causes(missing, oci.NotFound) {
		return now, missing
	}
	found := peeled(advertised, now)
	if missing == nil && found == locked.Commit {
		return now, nil
	}
	// A branch moves with each commit, so its locked commit is as good as ever. A tag must
	// not move.
	if missing == nil && (o.Fresh || locked.Tag != "") {
		return now, o.Pins.Moved(ref, locked.Commit, found)
	}
	exact := ref
	exact.Revision = locked.Commit
	object, _, err := commitOf(exact, advertised)
	if err != nil && missing == nil {
		err = o.Pins.Moved(ref, locked.Commit, found)
	}
	return object, err
}

// peeled returns the commit that an advertised object is or, as an annotated tag, refers
// to.
func peeled(advertised *packp.AdvRefs, object plumbing.Hash) string {
	for name, commit := range advertised.Peeled {
		if advertised.References[name] == object {
			return commit.String()
		}
	}
	return object.String()
}

// errNotKept is the error of the cache about a pack that it lacks.
var errNotKept = errors.New("not in the cache")

// kept returns a revision of the cache, or nil. The names of its objects are computed
// from their contents, so the cache need not be trusted.
func (o Options) kept(ctx context.Context, t Target) *Snapshot {
	if o.Cache == nil {
		return nil
	}
	digest, ok := o.Cache.Recall("pack " + t.Commit)
	if !ok {
		return nil
	}
	pack, err := o.Cache.Get(ctx, digest, -1, func(context.Context) (io.ReadCloser, error) { return nil, errNotKept })
	if err != nil {
		return nil
	}
	s, err := snapshot(pack, plumbing.NewHash(t.Commit), t.Tag)
	if err != nil {
		return nil
	}
	return s
}

// keep stores the pack of a revision. Errors only cost another download.
func (o Options) keep(ctx context.Context, s *Snapshot, pack []byte) {
	if o.Cache == nil {
		return
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(pack))
	var fetch cache.Fetch = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(pack)), nil }
	if _, err := o.Cache.Get(ctx, digest, int64(len(pack)), fetch); err == nil {
		o.Cache.Remember("pack "+s.Commit, digest)
	}
}
