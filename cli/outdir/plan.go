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

// set is a set of paths, with slashes and relative to the directory.
type set map[string]bool

// sorted returns the paths in order.
func (s set) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// plan lists the changes that a run makes, in the order of the paths.
type plan struct {
	write  []change // new and changed files
	remove []string // files to prune
}

// change is a file to write.
type change struct {
	File
	// line is the first line that differs from the file on disk, or 0 if there is no
	// file.
	line int
	// modeOnly is true if only the permissions of the file change.
	modeOnly bool
}

// missing returns the plan for a directory that does not exist.
func missing(files map[string]File) plan {
	var p plan
	for _, file := range slices.Sorted(maps.Keys(files)) {
		p.write = append(p.write, change{File: files[file]})
	}
	return p
}

// plan compares files with the directory. It changes nothing. It returns an error if
// a file of the user is in the way.
func (r *run) plan(files map[string]File, prune bool) (plan, error) {
	var p plan
	var foreign []string
	for _, file := range slices.Sorted(maps.Keys(files)) {
		f := files[file]
		info, err := r.stat(file)
		if err != nil {
			return plan{}, err
		}
		if info == nil {
			p.write = append(p.write, change{File: f})
			continue
		}
		content, err := r.root.ReadFile(file)
		if err != nil {
			return plan{}, r.fail(file, "reading", err)
		}
		// Git may have converted the line ends.
		content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
		header := headerOf(r.owner, file)
		body, marked := bytes.CutPrefix(content, []byte(header))
		same := bytes.Equal(content, f.Data) || marked && f.Keep != nil && f.Keep(body)
		switch {
		case same && f.Private && exposed(info):
			p.write = append(p.write, change{File: f, modeOnly: true})
		case same: // not touched
		// After a power failure, a file that a run wrote may be empty.
		case hasHeader(content, header), bytes.Equal(content, f.Data[len(header):]), len(content) == 0:
			p.write = append(p.write, change{File: f, line: firstDifference(content, f.Data)})
		default: // another file of the user
			foreign = append(foreign, file)
		}
	}
	if len(foreign) > 0 {
		return plan{}, r.refuse(foreign)
	}
	if !prune {
		return p, nil
	}
	var err error
	p.remove, err = r.leftovers(files)
	return p, err
}

// firstDifference returns the number of the first line in which two contents
// differ, counted from 1.
func firstDifference(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + bytes.Count(a[:n], []byte("\n"))
}

// exposed reports whether others than the owner may read a file. Windows has no such
// permissions: every file there looks like it, and would be written again each time.
func exposed(info fs.FileInfo) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0
}

// stat describes the regular file at a path. It returns nil if nothing exists there,
// and an error if the path is not a regular file or something above it is not a directory.
func (r *run) stat(file string) (fs.FileInfo, error) {
	for i, c := range file {
		if c != '/' {
			continue
		}
		dir := file[:i]
		info, err := r.root.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, r.fail(dir, "reading", err)
		case !info.IsDir():
			return nil, r.fail(dir, "writing below it", errors.New("not a directory"))
		}
	}
	info, err := r.root.Lstat(file)
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
		for {
			if _, err := r.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				break
			}
			dir = path.Dir(dir) // the other one will be created below it
		}
		if dir == "." {
			continue // files are staged there
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
