package render

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sort"
	"strings"
	"sync"

	"cuelang.org/go/cue/build"

	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// recorder is a file system that keeps what the CUE loader reads, because the
// loader does not keep every file. So digests and checks cover the bytes that
// were parsed, even if the file changes meanwhile.
//
// It hides replacements of other modules, which the loader would look for inside the
// file system: the importer applies them.
type recorder struct {
	fs.FS
	// maxFile is the length limit of a file in bytes; 0 means no limit. Longer files
	// can't be read.
	maxFile int
	mu      sync.Mutex // guards files
	files   map[string][]byte
	// embedded are the recorded files that packages embed. It doesn't change after
	// [importer.embed], so evaluations may read it at the same time.
	embedded map[string]fs.FileInfo
	// loaded is set when everything is recorded. From then on, only embedded files can
	// be read.
	loaded bool
}

// Open opens a file or a directory without recording it. Evaluations read the files
// that packages embed with Open: they get the bytes that were recorded.
func (r *recorder) Open(name string) (fs.File, error) {
	if name == cuemod.LocalFile {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if info, ok := r.embedded[name]; ok {
		return recorded{bytes.NewReader(r.files[name]), info}, nil
	}
	f, err := r.FS.Open(name)
	if err != nil || !r.loaded {
		return f, err
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		return f, err
	}
	return recorded{unread{}, info}, f.Close()
}

// recorded is an open file with recorded bytes.
type recorded struct {
	io.Reader
	info fs.FileInfo
}

func (f recorded) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f recorded) Close() error               { return nil }

// unread is the content of a file that was not recorded, because it appeared after the
// module was loaded.
type unread struct{}

func (unread) Read([]byte) (int, error) {
	return 0, errors.New("it appeared while the module was in use")
}

// ReadFile reads a file and records its content. The loader may call it from
// several goroutines.
func (r *recorder) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.FS, name)
	if err == nil && r.maxFile > 0 && len(data) > r.maxFile {
		return nil, fmt.Errorf("%s: is longer than %d bytes", name, r.maxFile)
	}
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

// moduleFile is one file of a package. Positions of CUE have the name as it is
// shown to the user.
type moduleFile struct {
	name  string // in the module's file system, after the name of another module
	shown string // to the user
	data  []byte
	// embedded files are not CUE and may be binary.
	embedded bool
}

// filesOf returns the recorded files of a package and its imports, with the files that
// they embed, by name. Other
// recorded files, such as those of packages that the loader only listed, are not part
// of the module. If packages of other modules are among them, the files that determine
// the versions of these modules are, too.
func (im *importer) filesOf(inst *build.Instance) []moduleFile {
	built := map[*moduleRoot]map[string]bool{}
	for _, i := range append(inst.Dependencies(), inst) {
		root := im.roots[im.modules[i]]
		if built[root] == nil {
			built[root] = map[string]bool{}
		}
		for _, f := range i.BuildFiles {
			built[root][f.Filename] = true
		}
	}
	var files []moduleFile
	for root, names := range built {
		for name, data := range root.read.files {
			shown := root.show(path.Join("/", name))
			_, embedded := root.read.embedded[name]
			if names[shown] || embedded {
				files = append(files, moduleFile{root.prefix + name, shown, data, embedded})
			}
		}
		if root.module.File != nil {
			files = append(files, moduleFile{root.prefix + cuemod.ModuleFile, root.show(cuemod.ModuleFile), root.module.File, false})
		}
	}
	if len(built) > 1 {
		for name, data := range im.list.Files() {
			files = append(files, moduleFile{name, im.roots[im.finder.Main].show(name), data, false})
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
//
// Files of other modules have names such as example.com/k8s@v1.2.0//apps/v1/types.cue.
// Two slashes are in no name of a module's own file.
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
		if at, found := yamlfile.InvalidUTF8(f.shown, f.data); found && !f.embedded {
			return problem.List{{Position: at, Rule: problem.RuleModule, Message: "not UTF-8"}}
		}
	}
	return nil
}
