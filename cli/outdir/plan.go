package outdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// probeName is the name of a directory that is created and removed to check
// permissions.
const probeName = ".pequod-probe"

// errNotRegular is the error for directories, links and devices at the path of a file.
var errNotRegular = errors.New("not a regular file")

// plan lists the changes that a run makes.
type plan struct {
	write  []File   // new and changed files
	remove []string // files to prune, which may be missing
	owned  set      // the files that the index lists at the end
}

// plan compares files with the directory. It changes nothing but for probes. It
// returns an error if a file of the user is in the way, or if a directory is not
// writable.
func (r *run) plan(files map[string]File, prune bool) (plan, error) {
	p := plan{owned: set{}}
	var foreign []string
	for _, file := range slices.Sorted(maps.Keys(files)) {
		info, err := r.stat(file)
		if err != nil {
			return plan{}, err
		}
		same, err := r.hasContent(file, info, files[file].Data)
		switch {
		case err != nil:
			return plan{}, err
		case same && !(files[file].Private && exposed(info)): // not touched
		case info != nil && !same && !r.owned[file]: // another file of the user
			foreign = append(foreign, file)
		default:
			p.write = append(p.write, files[file])
		}
		p.owned[file] = true
	}
	if len(foreign) > 0 {
		return plan{}, r.refuse(foreign)
	}
	// The files of the index that are not written.
	for _, file := range r.owned.sorted() {
		if p.owned[file] {
			continue
		}
		info, err := r.stat(file)
		switch {
		case err != nil:
			return plan{}, err
		case prune:
			p.remove = append(p.remove, file)
		case info != nil: // stays, and may be pruned by a later run
			p.owned[file] = true
		}
	}
	return p, r.probe(p)
}

// exposed reports whether others than the owner may read a file. Windows has no such
// permissions: every file there looks like it, and would be written again each time.
func exposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// hasContent reports whether the file that info describes has the content. Without a
// file, info is nil.
func (r *run) hasContent(file string, info fs.FileInfo, content []byte) (bool, error) {
	if info == nil || info.Size() != int64(len(content)) {
		return false, nil
	}
	old, err := r.root.ReadFile(file)
	if err != nil {
		return false, r.fail(file, "reading", err)
	}
	return bytes.Equal(old, content), nil
}

// stat describes the regular file at a path. It returns nil if nothing exists there,
// and an error if the path is not a regular file or its parent is not a directory.
func (r *run) stat(file string) (fs.FileInfo, error) {
	dir := path.Dir(file)
	info, err := r.root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, r.fail(dir, "reading", err)
	case !info.IsDir():
		return nil, r.fail(dir, "writing below it", errors.New("not a directory"))
	}
	info, err = r.root.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, r.fail(file, "reading", err)
	case !info.Mode().IsRegular():
		return nil, r.fail(file, "replacing", errNotRegular)
	}
	return info, nil
}

// refuse returns the error for files of the user that would be overwritten.
func (r *run) refuse(foreign []string) error {
	names := make([]string, 0, 3)
	for _, file := range foreign[:min(len(foreign), cap(names))] {
		names = append(names, filepath.Join(r.dir, filepath.FromSlash(file)))
	}
	subject := strings.Join(names, ", ")
	if more := len(foreign) - len(names); more > 0 {
		subject += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s: not written by pequod and not what it would write: move or delete, or choose another directory", subject)
}

// probe checks that files can be created and removed in every directory that the plan
// changes, so that missing permissions are found before the first change.
func (r *run) probe(p plan) error {
	dirs := set{}
	for _, f := range p.write {
		dirs[path.Dir(f.Path)] = true
	}
	for _, file := range p.remove {
		dirs[path.Dir(file)] = true
	}
	for _, dir := range dirs.sorted() {
		if _, err := r.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue // will be created
		}
		name := dir + "/" + probeName
		if err := r.change("writing below it", dir, func() error { return r.root.Mkdir(name, 0o755) }); err != nil {
			return err
		}
		if err := r.change("writing below it", dir, func() error { return r.root.Remove(name) }); err != nil {
			return err
		}
	}
	return nil
}
