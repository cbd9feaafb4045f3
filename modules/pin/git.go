package pin

import (
	"fmt"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/lock"
)

// Git returns the options for git repositories.
func (p *Pins) Git() git.Options {
	return git.Options{Offline: p.options.Offline, Fresh: p.options.Fresh, Cache: p.options.Cache, Pins: repositories{p}}
}

// repositories implements [git.Pins]. A repository on disk is locked as well: a reference
// names a revision of it, not its work tree.
type repositories struct{ *Pins }

// entry returns the entry of a reference.
func (r repositories) entry(ref git.Ref) (lock.Module, bool) {
	return r.find(func(f *lock.File) (lock.Module, bool) { return f.Root(ref.String()) })
}

// Target implements git.Pins.
func (r repositories) Target(ref git.Ref) (git.Target, error) {
	m, ok := r.entry(ref)
	if !ok && r.options.ByDigest && ref.Pinned() {
		return git.Target{}, nil // the reference is as exact as an entry
	}
	if !ok {
		return git.Target{}, r.missing(ref.String())
	}
	return git.Target{Commit: m.Commit, Tag: m.Version}, nil
}

// Moved implements git.Pins.
func (r repositories) Moved(ref git.Ref, locked, now string) error {
	return r.moved(ref.String(), locked, now)
}

// Check implements git.Pins. The names of git's objects are SHA-1 hashes, for which others
// can make a second content. The hash of all files in the lock is SHA-256.
func (r repositories) Check(ref git.Ref, s *git.Snapshot) error {
	if r.options.Record {
		record(&r.recorded, &r.recorded.revisions, ref.String(), s)
	}
	m, ok := r.entry(ref)
	if !ok {
		return nil
	}
	content, err := contentOf(s)
	if err != nil || content == m.Content {
		return err
	}
	return r.refuse(fmt.Sprintf("%s: the files of commit %s have the hash %s, and %s is locked", ref, s.Commit, content, m.Content))
}

// contentOf returns the hash of all files of a revision.
func contentOf(s *git.Snapshot) (string, error) {
	return lock.Content(s.Files(func(name string) string { return name }))
}

// moved returns the error about a tag or a branch that is not what is locked.
func (p *Pins) moved(ref, locked, now string) problem.List {
	list := p.refuse(fmt.Sprintf("%s was moved: it is %s now, and %s is locked", ref, now, locked))
	list[0].Hint = "find out why; 'pequod module lock --upgrade' accepts the new digest"
	return list
}
