package transform

import (
	"bytes"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"cuelang.org/go/cue/inject/embed"
	"cuelang.org/go/cue/parser"

	"github.com/pequod-io/pequod/internal/cuemod"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render"
)

// root is the part of the file system of a module that loading a package of it can read.
type root struct {
	// location is zero for the module with the package.
	location cuemod.Location
	// files are the contents of files by their names.
	files map[string][]byte
	// dirs are directories without files whose existence matters.
	dirs map[string]bool
	// unreadable are the errors of files that can't be read, by their names. Files has them
	// without content.
	unreadable map[string]fileError
	show       func(string) string
	// fs is the whole file system.
	fs fs.FS
}

// roots returns the files that loading a source can read: that of its module first, then
// those of the modules that it imports, sorted by their names. They are:
//
//   - the module files,
//   - all files of CUE in the directories of the package and of those that it imports,
//   - the files that these embed,
//   - directories cue.mod, which separate modules.
func roots(src render.Source) ([]*root, error) {
	dirs, err := cuemod.Reach(src.FS, src.Modules, path.Clean(src.Dir))
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", src.Ref, err)
	}
	main := newRoot(cuemod.Location{}, cuemod.Files{FS: src.FS, Show: src.Show})
	main.read(cuemod.ModuleFile)
	all := []*root{main}
	if src.Modules != nil {
		for name, data := range src.Modules.List.Files() {
			main.files[name] = data
		}
		for location, files := range src.Modules.Modules {
			r := newRoot(location, files)
			r.read(cuemod.ModuleFile)
			all = append(all, r)
		}
	}
	slices.SortFunc(all[1:], func(a, b *root) int {
		return strings.Compare(a.location.Module.String()+" "+a.location.String(), b.location.Module.String()+" "+b.location.String())
	})
	for _, r := range all {
		for _, dir := range dirs[r.location] {
			r.readPackages(dir)
		}
	}
	return all, nil
}

func newRoot(l cuemod.Location, f cuemod.Files) *root {
	return &root{location: l, fs: f.FS, show: f.Show, files: map[string][]byte{}, dirs: map[string]bool{}, unreadable: map[string]fileError{}}
}

// read reads a file unless it doesn't exist.
func (r *root) read(name string) {
	if _, ok := r.files[name]; ok {
		return
	}
	if _, err := fs.Stat(r.fs, name); err != nil {
		return
	}
	data, err := fs.ReadFile(r.fs, name)
	if err != nil {
		r.unreadable[name] = fileErrorOf(err)
	}
	r.files[name] = data
}

// readPackages reads the files of CUE in a directory, whichever package they belong to, and
// the files that they embed.
func (r *root) readPackages(dir string) {
	entries, _ := fs.ReadDir(r.fs, dir) // the loader reports the error
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".cue") {
			continue
		}
		name := path.Join(dir, e.Name())
		r.read(name)
		r.readEmbedded(name)
	}
	r.mark(dir)
}

// readEmbedded reads the files that a file of CUE embeds. Parsing is bounded: files have a
// maximum size, and the parser limits the depth of expressions.
func (r *root) readEmbedded(name string) {
	data := r.files[name]
	if !bytes.Contains(data, []byte("@extern")) {
		return
	}
	syntax, err := parser.ParseFile(name, data)
	if err != nil {
		return // the loader reports it
	}
	embeds, _ := embed.EmbeddedPaths(name, syntax)
	for _, e := range embeds {
		names, _ := e.FindAll(r.fs)
		for _, name := range names {
			if info, err := fs.Stat(r.fs, name); err == nil && info.IsDir() {
				r.dirs[name] = true
				continue
			}
			r.read(name)
			// A file below another module can't be embedded.
			for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
				r.mark(dir)
			}
		}
	}
}

// mark keeps the directory cue.mod of a directory, if there is one.
func (r *root) mark(dir string) {
	name := path.Join(dir, "cue.mod")
	if info, err := fs.Stat(r.fs, name); err == nil && info.IsDir() {
		r.dirs[name] = true
	}
}

// shown returns the user's names for the root, its files and all directories above them. The
// loader asks for names that begin with a slash.
func (r *root) shown() map[string]string {
	names := map[string]string{"": r.show("/"), ".": r.show(".")}
	for _, all := range []iter.Seq[string]{maps.Keys(r.files), maps.Keys(r.dirs)} {
		for name := range all {
			for ; name != "." && names[name] == ""; name = path.Dir(name) {
				names[name] = r.show("/" + name)
			}
		}
	}
	return names
}

// blocks returns the places of files in YAML files, by the user's names for them.
func (r *root) blocks(place func(string) (yamlfile.Block, bool)) map[string]yamlfile.Block {
	if place == nil {
		return nil
	}
	blocks := map[string]yamlfile.Block{}
	for name := range r.files {
		shown := r.show("/" + name)
		if block, ok := place(shown); ok {
			blocks[shown] = block
		}
	}
	return blocks
}
