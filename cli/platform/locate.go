package platform

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/inline"
)

// locate returns the reference of a value of -p, and the place that it is
// relative to. The reference of a path need not be a module: it may be a Transform as well. REV:PATH
// is a path in a git revision, unless there is such a file on disk.
func locate(ctx context.Context, arg string) (v1alpha1.CueRef, modules.Place, error) {
	ref, err := modules.ParseRef(arg)
	if err != nil || ref.Type != v1alpha1.CueRefPath {
		return ref, modules.Place{}, err
	}
	if _, err := os.Stat(arg); err == nil {
		return ref, modules.Place{}, nil
	} else if rev, name, ok, revErr := files.OpenRevision(ctx, arg); revErr != nil {
		return ref, modules.Place{}, revErr
	} else if ok {
		ref.Ref = name
		return ref, modules.Place{Tree: &modules.Tree{FS: rev, Name: rev.Repository, Show: rev.Shown}}, nil
	} else {
		return ref, modules.Place{}, command.FileError(err)
	}
}

// place is a file system with Transforms: the disk if tree is nil, or a git revision.
// Names in a revision are relative to the root of the repository.
type place struct{ tree *modules.Tree }

// stat returns the attributes of a file or directory.
func (p place) stat(name string) (fs.FileInfo, error) {
	if p.tree == nil {
		info, err := os.Stat(name)
		return info, command.FileError(err)
	}
	info, err := fs.Stat(p.tree.FS, name)
	return info, command.FileError(err)
}

// readDir returns the entries of a directory by name.
func (p place) readDir(name string) ([]fs.DirEntry, error) {
	if p.tree == nil {
		entries, err := os.ReadDir(name)
		return entries, command.FileError(err)
	}
	entries, err := fs.ReadDir(p.tree.FS, name)
	return entries, command.FileError(err)
}

// readFile reads a file that the user named.
func (p place) readFile(ctx context.Context, name string) ([]byte, error) {
	if p.tree == nil {
		return files.ReadFile(ctx, name)
	}
	data, err := fs.ReadFile(p.tree.FS, name)
	return data, command.FileError(err)
}

// readEntry reads a file in a directory that the user named. Links must stay in the
// directory.
func (p place) readEntry(ctx context.Context, dir, name string) ([]byte, error) {
	if p.tree == nil {
		file := filepath.Join(dir, name)
		if err := files.CheckEntry(dir, file); err != nil {
			return nil, err
		}
		return files.ReadFile(ctx, file)
	}
	in, err := fs.Sub(p.tree.FS, dir)
	if err != nil {
		return nil, command.FileError(err)
	}
	data, err := fs.ReadFile(in, name)
	return data, command.FileError(err)
}

// shown returns the user's name for a file.
func (p place) shown(name string) string {
	if p.tree == nil {
		return name
	}
	return p.tree.Show(name)
}

// in returns the place of references that are relative to a directory.
func (p place) in(dir string) modules.Place {
	return modules.Place{BaseDir: dir, Tree: p.tree, ConfigMaps: &inline.Manifests{}}
}
