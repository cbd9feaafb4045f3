// Package inline makes modules of files that are in objects of Kubernetes: in the
// references of Transforms, and in ConfigMaps.
//
// [New] makes the module of a Transform, and [FromConfigMap] that of a ConfigMap. A
// [Module] has its files in memory. The package reads nothing: callers have the objects
// from a manifest or from a cluster.
package inline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// The limits of a module. An object in a cluster has at most about 1.5 MiB.
const (
	maxFiles = 64
	// maxBytes is the limit for the sum of all files.
	maxBytes = 1 << 20
	// maxName is the length limit of the path of a file.
	maxName = 253
)

// MainFile is the name of the only file of a module whose source stands in the reference.
const MainFile = "main.cue"

// Module is the files of a module.
type Module struct {
	// Files are the contents of the files by their paths, which are slash-separated.
	Files map[string]string
	// Origin is the place of the files.
	Origin Origin
}

// Origin is the place of the files of a module, for messages.
type Origin struct {
	// Name is the name of the field or object with the files, such as
	// "shop.yaml: spec.cueRef.files" or "ConfigMap shop/web".
	Name string
	// Block returns the lines of a YAML file that are the file with a key in the object.
	// It may be nil.
	Block func(key string) (yamlfile.Block, bool)

	// separator stands in keys for a slash. It is "" if keys can have slashes.
	separator string
}

// key returns the key of a file in the object.
func (o Origin) key(file string) string {
	file = strings.TrimPrefix(file, "/")
	if o.separator == "" {
		return file
	}
	return strings.ReplaceAll(file, "/", o.separator)
}

// Show returns the user's name for a file.
func (o Origin) Show(file string) string { return fmt.Sprintf("%s[%s]", o.Name, o.key(file)) }

// Place returns the lines of a YAML file that are a file of the module, by the name that
// Show returns.
func (m *Module) Place(shown string) (yamlfile.Block, bool) {
	if m.Origin.Block == nil {
		return yamlfile.Block{}, false
	}
	key := strings.TrimSuffix(strings.TrimPrefix(shown, m.Origin.Name+"["), "]")
	return m.Origin.Block(key)
}

// fileName is the form of the path of a file, as in the CRD of Transforms. CUE ignores
// files whose names begin with a dot or an underscore.
var fileName = lazyregexp.New(`^([A-Za-z0-9][-A-Za-z0-9_.]*/)*[A-Za-z0-9][-A-Za-z0-9_.]*$`)

// CheckName returns an error if the path of a file is not valid.
func CheckName(name string) error {
	if len(name) > maxName || !fileName().MatchString(name) {
		return fmt.Errorf("%q is not the path of a file: want letters, digits, '-', '_' and '.', in elements that begin with a letter or digit", name)
	}
	return nil
}

// New returns the module with the given files, after checking their names and sizes.
func New(files map[string]string, at Origin) (*Module, error) {
	if len(files) > maxFiles {
		return nil, fmt.Errorf("has %d files; at most %d are allowed", len(files), maxFiles)
	}
	total, source := 0, false
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := CheckName(name); err != nil {
			return nil, err
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := files[dir]; ok {
				return nil, fmt.Errorf("%s is both a file and a directory", dir)
			}
		}
		total += len(files[name])
		source = source || path.Ext(name) == ".cue"
	}
	switch {
	case total > maxBytes:
		return nil, fmt.Errorf("has %d bytes; at most %d are allowed", total, maxBytes)
	case !source:
		return nil, errors.New("has no .cue file")
	}
	return &Module{files, at}, nil
}

// FS returns the files as a file system. It implements the interfaces that CUE's loader
// needs.
func (m *Module) FS() fs.FS { return gitfs.New(objects(m.Files), ".", m.Origin.Show) }

// objects are files by their paths, in the form of the objects of a git repository, whose
// names here are the paths.
type objects map[string]string

// Entries implements [gitfs.Objects].
func (o objects) Entries(tree string) ([]gitfs.Entry, error) {
	var entries []gitfs.Entry
	prefix := tree + "/"
	if tree == "." {
		prefix = ""
	}
	for name, content := range o {
		below, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		first, _, isDir := strings.Cut(below, "/")
		e := gitfs.Entry{Name: first, Mode: "100644", Size: int64(len(content)), Object: name}
		if isDir {
			e = gitfs.Entry{Name: first, Mode: "040000", Object: prefix + first}
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b gitfs.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(entries, func(a, b gitfs.Entry) bool { return a.Name == b.Name }), nil
}

// Blob implements [gitfs.Objects].
func (o objects) Blob(object string) ([]byte, error) {
	content, ok := o[object]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(content), nil
}
