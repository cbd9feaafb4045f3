package modules

import (
	"context"
	"path"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules/git"
)

// openGit opens a module of a git repository. It holds the whole revision in memory. Like
// on disk, the root of the module is the nearest directory with a cue.mod; links must stay
// in it.
func openGit(ctx context.Context, ref v1alpha1.CueRef, o Options) (*Files, error) {
	r, err := git.ParseRef(ref.Ref)
	if err != nil {
		return nil, err
	}
	// A repository on this machine is a directory of the user's.
	if o.Allowed != nil && r.URL.Scheme != "file" {
		if err := o.Allowed(r.String(), r.URL.Host, strings.TrimSuffix(r.URL.Path, ".git")); err != nil {
			return nil, err
		}
	}
	options, err := o.gitOptions()
	if err != nil {
		return nil, err
	}
	snapshot, err := git.Fetch(ctx, r, options)
	if err != nil {
		return nil, err
	}
	shown := func(name string) string {
		return path.Join(r.URL.Host+r.URL.Path+"@"+snapshot.Version(), name)
	}
	tree := &Tree{FS: snapshot.Files(shown), Name: r.Name(), Show: shown}
	files, err := tree.open(v1alpha1.CueRef{Ref: r.Dir, Path: ref.Path}, "")
	if err != nil {
		return nil, err
	}
	files.Ref, files.Version, files.Commit = r.String(), snapshot.Version(), snapshot.Commit
	return files, nil
}

// gitOptions returns the options for git repositories.
func (o Options) gitOptions() (git.Options, error) {
	if o.Git == nil {
		return git.Options{}, nil
	}
	return o.Git()
}
