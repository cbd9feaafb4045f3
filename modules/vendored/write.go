package vendored

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sync/errgroup"

	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/lock"
)

const (
	// attributes keeps git from changing line ends. Its first line marks the directory as
	// ours.
	attributes = "# Written by 'pequod module vendor'. Commit the directory, and do not edit it.\n* -text\n"
	// ignored keeps git from committing what a killed process left.
	ignored = "/" + staging + "*\n"
	// staging is the beginning of the names of directories that are being written.
	staging = ".new-"
	// leftAfter is the age from which on such a directory belongs to no process anymore.
	leftAfter = time.Hour
	// parallel is the number of modules that are fetched at the same time.
	parallel = 8
)

// Fetch returns the artifact of a module of the lock.
type Fetch func(ctx context.Context, m lock.Module) (v1.Image, error)

// Changes are the modules that [Write] added or replaced, and removed, as PATH@VERSION.
type Changes struct{ Added, Removed []string }

// Write makes a directory have the modules of a lock, and removes those that the lock does
// not name. Modules that the directory has are not fetched. It refuses a directory with
// other content, but keeps files that were added to one of its own. Readers, and a process
// that is killed, see all of the old or all of the new modules: the new ones are written
// beside the old ones and then take their place.
func Write(ctx context.Context, dir string, l *lock.File, fetch Fetch) (Changes, error) {
	all, err := entries(l)
	if err != nil {
		return Changes{}, err
	}
	old := newTree(dir, all)
	if err := old.checkOurs(); err != nil {
		return Changes{}, err
	}
	stale, err := old.stale()
	if err != nil {
		return Changes{}, err
	}
	w := &writing{old: old, stale: stale, files: map[string][]byte{}}
	changes := Changes{Removed: w.removed()}
	var missing []entry
	for _, e := range all {
		if old.complete(e) != nil {
			missing = append(missing, e)
			changes.Added = append(changes.Added, e.version.String())
		}
	}
	if len(missing) == 0 && len(stale) == 0 {
		return changes, nil
	}
	if err := w.fetch(ctx, missing, fetch); err != nil {
		return Changes{}, err
	}
	return changes, w.replace(ctx)
}

// checkOurs returns an error for a directory with content that Write did not write.
func (t *Tree) checkOurs() error {
	entries, err := os.ReadDir(t.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	mark, _, _ := strings.Cut(attributes, "\n")
	if data, err := os.ReadFile(t.name(".gitattributes")); err != nil || !strings.HasPrefix(string(data), mark) {
		return fmt.Errorf("%s: not empty, and not written by 'pequod module vendor'", t.dir)
	}
	return nil
}

// writing is one call of [Write].
type writing struct {
	old   *Tree
	stale []string
	// files are the files to write, of all fetched modules.
	files map[string][]byte
}

// removed returns the names of the modules that are removed.
func (w *writing) removed() []string {
	var names []string
	for _, file := range w.stale {
		name, version, _ := strings.Cut(strings.TrimPrefix(file, downloads+"/"), "/@v/")
		names = append(names, unescape(name+"@"+version))
	}
	return names
}

// unescape returns a name whose upper case is escaped as in the cache of CUE.
func unescape(name string) string {
	parts := strings.Split(name, "!")
	for i, part := range parts[1:] {
		if part != "" {
			parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}

// fetch fetches modules and keeps their files.
func (w *writing) fetch(ctx context.Context, missing []entry, fetch Fetch) error {
	images := make([]v1.Image, len(missing))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, e := range missing {
		group.Go(func() (err error) {
			images[i], err = fetch(groupCtx, e.Module)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, e := range missing {
		if err := w.add(e, images[i]); err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return nil
}

// add adds the files of a module.
func (w *writing) add(e entry, img v1.Image) error {
	info, files, err := artifact.Open(img)
	if err != nil {
		return err
	}
	if info.Digest != e.Digest || info.Path != e.Path {
		return fmt.Errorf("the artifact is %s with digest %s, and %s with %s is locked", info.Path, info.Digest, e.Path, e.Digest)
	}
	content, err := lock.Content(files)
	if err != nil {
		return err
	}
	if content != e.Content {
		return &ChangedError{e.version.String(), content, e.Content}
	}
	if w.files[e.file+manifestFile], err = img.RawManifest(); err != nil {
		return err
	}
	layers, err := img.Layers()
	if err != nil {
		return err
	}
	for i, extension := range []string{archiveFile, moduleFile} {
		r, err := layers[i].Compressed()
		if err != nil {
			return err
		}
		w.files[e.file+extension], err = io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return err
		}
	}
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		w.files[path.Join(e.extracted, name)], err = fs.ReadFile(files, name)
		return err
	})
}

// replace writes the new tree and puts it in the place of the old one.
func (w *writing) replace(ctx context.Context) error {
	dir := w.old.dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string]string{".gitattributes": attributes, ".gitignore": ignored} {
		if _, err := os.Lstat(w.old.name(name)); errors.Is(err, fs.ErrNotExist) {
			if err := os.WriteFile(w.old.name(name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	removeLeft(dir)
	fresh, err := os.MkdirTemp(dir, staging+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh) // after the exchange, it has the old tree
	if err := w.keep(fresh); err != nil {
		return err
	}
	for name, data := range w.files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := writeFile(filepath.Join(fresh, filepath.FromSlash(name)), data); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(fresh, modules), 0o755); err != nil {
		return err
	}
	return exchange(filepath.Join(fresh, modules), w.old.name(modules))
}

// keep copies everything from the old tree that stays: modules that are not written again,
// and files that are part of no module.
func (w *writing) keep(fresh string) error {
	gone := w.gone()
	return fs.WalkDir(os.DirFS(w.old.dir), modules, func(name string, d fs.DirEntry, err error) error {
		if name == modules && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || gone[name] {
			return err
		}
		if _, written := w.files[name]; written {
			return nil
		}
		for _, e := range w.old.entries {
			if _, written := w.files[e.file+manifestFile]; written && strings.HasPrefix(name, e.extracted+"/") {
				return fmt.Errorf("%s is not a file of %s; remove it", w.old.name(name), e.version)
			}
		}
		target := filepath.Join(fresh, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		// A second name costs nothing. The first one is removed with the old tree.
		if os.Link(w.old.name(name), target) == nil {
			return nil
		}
		data, err := os.ReadFile(w.old.name(name))
		if err != nil {
			return err
		}
		return writeFile(target, data)
	})
}

// gone returns the files of modules in the old tree that are removed or replaced, as far as
// the archives list them.
func (w *writing) gone() map[string]bool {
	gone := map[string]bool{}
	files := slices.Clone(w.stale)
	for _, e := range w.old.entries {
		if _, written := w.files[e.file+manifestFile]; written {
			files = append(files, e.file)
		}
	}
	for _, file := range files {
		for _, extension := range []string{manifestFile, moduleFile, archiveFile} {
			gone[file+extension] = true
		}
		data, err := os.ReadFile(w.old.name(file + archiveFile))
		if err != nil {
			continue // its files are not known
		}
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			continue
		}
		name, version, _ := strings.Cut(strings.TrimPrefix(file, downloads+"/"), "/@v/")
		for _, f := range z.File {
			gone[path.Join(extracts, name+"@"+version, f.Name)] = true
		}
	}
	return gone
}

// writeFile writes a file with all parent directories.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// removeLeft removes what killed processes left. That it can't be removed doesn't matter.
func removeLeft(dir string) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, d := range found {
		if info, err := d.Info(); err == nil && strings.HasPrefix(d.Name(), staging) && time.Since(info.ModTime()) > leftAfter {
			_ = os.RemoveAll(filepath.Join(dir, d.Name()))
		}
	}
}
