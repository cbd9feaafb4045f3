package render

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
	"sync"

	"cuelang.org/go/cue/build"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// recorder keeps what the CUE loader reads, since the loader itself doesn't for
// every file: digests and checks are to be of the very bytes that were parsed.
type recorder struct {
	fs.FS
	mu    sync.Mutex
	files map[string][]byte
}

func (r *recorder) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.FS, name)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.files[name] = data
	}
	return data, err
}

func (r *recorder) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }
func (r *recorder) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(r.FS, name) }
func (r *recorder) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(r.FS, name) }
func (r *recorder) ReadLink(name string) (string, error)       { return fs.ReadLink(r.FS, name) }
func (r *recorder) Glob(pattern string) ([]string, error)      { return fs.Glob(r.FS, pattern) }

// short is without long files.
type short struct{ *recorder }

func (s short) ReadFile(name string) ([]byte, error) {
	data, err := s.recorder.ReadFile(name)
	if err == nil && len(data) > maxSearched {
		return nil, fmt.Errorf("%s: is longer than %d bytes", name, maxSearched)
	}
	return data, err
}

// sourceFile is one file of a package: where it lies in the module, what its
// reader calls it, what is in it, and the package that it belongs to.
type sourceFile struct {
	name, shown, pkg string
	data             []byte
}

// of gives the files of a package and of everything that it imports, by name.
func (r *recorder) of(inst *build.Instance, show func(string) string) []sourceFile {
	pkgs := map[string]string{}
	for _, i := range append(inst.Dependencies(), inst) {
		for _, f := range i.BuildFiles {
			pkgs[f.Filename] = i.ImportPath
		}
	}
	var files []sourceFile
	for name, data := range r.files {
		shown := path.Join("/", name)
		if show != nil {
			shown = show(shown)
		}
		if pkg, ok := pkgs[shown]; ok {
			files = append(files, sourceFile{name, shown, pkg, data})
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].name < files[j].name })
	return files
}

// digestOf is "sha256:" and the digest over the names and bytes of files.
func digestOf(files []sourceFile) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(b.String())))
}

// invalidUTF8 finds bytes that the CUE scanner lets pass.
func invalidUTF8(files []sourceFile) error {
	for _, f := range files {
		if at, bad := yamlfile.InvalidUTF8(f.shown, f.data); bad {
			return problem.List{{Position: at, Rule: problem.RuleModule, Message: "not UTF-8"}}
		}
	}
	return nil
}
