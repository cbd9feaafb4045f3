package modules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/internal/source/cueerror"
)

// resolve opens the modules that the package in f.Dir imports, directly or not. Errors
// in the module file are left to the loader.
func (f *Files) resolve(ctx context.Context, published Published, fill filling) error {
	// Only the author of a module on disk replaces modules that it depends on.
	list, err := cuemod.Read(f.FS, f.rootDir != "")
	if errors.As(err, new(*cuemod.LocalError)) {
		ps := cueerror.ProblemsIn(cuemod.LocalFile, err)
		for i := range ps {
			if ps[i].Position.File == cuemod.LocalFile {
				ps[i].Position.File = f.Show(cuemod.LocalFile)
			}
		}
		return ps
	}
	if err != nil || list == nil {
		return nil
	}
	opened, err := cuemod.Walk(ctx, f.FS, list, f.Dir, func(ctx context.Context, l cuemod.Location) (cuemod.Files, error) {
		if l.Dir != "" {
			return f.openReplacement(l.Dir, fill)
		}
		if published == nil {
			return cuemod.Files{}, errNotPublished
		}
		m, err := published.Open(ctx, l.Content)
		if err != nil {
			return cuemod.Files{}, err
		}
		return cuemod.Files{FS: m.Files, Digest: m.Digest}, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", f.Ref, err)
	}
	f.Modules = &cuemod.Resolved{List: list, Modules: opened}
	return nil
}

// openReplacement opens a directory that replaces another module. Unlike all other files
// of a module it may be outside the module's root: it is a name in a file of the user's,
// as a reference to a module is.
func (f *Files) openReplacement(dir string, fill filling) (cuemod.Files, error) {
	shown := path.Join(f.display, filepath.ToSlash(dir))
	if filepath.IsAbs(dir) {
		shown = filepath.ToSlash(dir)
	} else {
		dir = filepath.Join(f.rootDir, dir)
	}
	if err := fill.path(dir); err != nil {
		return cuemod.Files{}, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return cuemod.Files{}, fmt.Errorf("%s: %w", shown, withoutPath(err))
	}
	if !info.IsDir() {
		return cuemod.Files{}, fmt.Errorf("%s: not a directory", shown)
	}
	return cuemod.Files{FS: moduleFS{dir, fill}, Show: func(file string) string { return path.Join(shown, file) }}, nil
}
