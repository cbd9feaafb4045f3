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

// recorder is a file system that keeps what the CUE loader reads, because the
// loader does not keep every file. So digests and checks cover the bytes that
// were parsed, even if the file changes meanwhile.
type recorder struct {
	fs.FS
	mu    sync.Mutex // guards files
	files map[string][]byte
}

// ReadFile reads a file and records its content. The loader may call it from
// several goroutines.
func (r *recorder) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.FS, name)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.files[name] = data
	}
	return data, err
}

// The other methods pass requests on. They exist because the loader asks for them
// by type, and embedding fs.FS alone would hide them.
func (r *recorder) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(r.FS, name) }
func (r *recorder) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(r.FS, name) }
func (r *recorder) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(r.FS, name) }
func (r *recorder) ReadLink(name string) (string, error)       { return fs.ReadLink(r.FS, name) }
func (r *recorder) Glob(pattern string) ([]string, error)      { return fs.Glob(r.FS, pattern) }

// skipLong is a recorder that refuses to read files which are too long to
// search for recursion.
type skipLong struct{ *recorder }

// ReadFile fails for a long file, which the loader then leaves out.
func (s skipLong) ReadFile(name string) ([]byte, error) {
	data, err := s.recorder.ReadFile(name)
	if err == nil && len(data) > maxSearchedFile {
		return nil, fmt.Errorf("%s: is longer than %d bytes", name, maxSearchedFile)
	}
	return data, err
}

// moduleFile is one file of a package. Positions of CUE have the name as it is
// shown to the user.
type moduleFile struct {
	name  string // in the module's file system
	shown string // to the user
	data  []byte
}

// filesOf returns the recorded files of a package and its imports, by name.
// Other recorded files, such as those of packages that the loader only listed,
// are not part of the module. show may be nil; see [Source].
func (r *recorder) filesOf(inst *build.Instance, show func(string) string) []moduleFile {
	built := map[string]bool{}
	for _, i := range append(inst.Dependencies(), inst) {
		for _, f := range i.BuildFiles {
			built[f.Filename] = true
		}
	}
	var files []moduleFile
	for name, data := range r.files {
		shown := path.Join("/", name)
		if show != nil {
			shown = show(shown)
		}
		if built[shown] {
			files = append(files, moduleFile{name, shown, data})
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].name < files[j].name })
	return files
}

// digestOf returns "sha256:" and the hex digest over the names and bytes of
// files. It hashes a list in the format of sha256sum, so that it can be computed
// by hand in the module's root, with the files in the order of their names:
//
//	sha256sum FILES... | sha256sum
func digestOf(files []moduleFile) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(f.data), f.name)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(b.String())))
}

// checkUTF8 refuses bytes that the CUE scanner lets pass and JSON can't hold.
func checkUTF8(files []moduleFile) error {
	for _, f := range files {
		if at, found := yamlfile.InvalidUTF8(f.shown, f.data); found {
			return problem.List{{Position: at, Rule: problem.RuleModule, Message: "not UTF-8"}}
		}
	}
	return nil
}
