package transform

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// The limits of encoded sources. Real ones have some hundred KiB; all types of Kubernetes
// as CUE have about 20 MiB in 1,000 files.
const (
	// maxEncoded is the limit of all bytes.
	maxEncoded = 128 << 20
	// maxEntries is the limit of files and directories.
	maxEntries = 50_000
)

// manifestName is the name of the entry that describes the others.
const manifestName = "sources.json"

// manifest is the first entry of encoded sources. The files of its roots are in directories
// that have the number of the root, from 0, as their name.
type manifest struct {
	Name, From string
	Spec       encodedSpec
	// Modules are the module and the policies.
	Modules []encodedModule
	Roots   []encodedRoot
}

// encodedSpec has the fields of a Transform that Load uses. Unlike the JSON of a Transform,
// it distinguishes lists that are empty from those that are not given.
type encodedSpec struct {
	Group, Version, Kind, Plural string
	ShortNames, Categories       []string
	Scope                        v1alpha1.Scope
	ServiceAccountName           string
	GraphDeletionPolicy          v1alpha1.DeletionPolicy
}

// encodedModule is a [Source].
type encodedModule struct {
	Path, Name, Dir, Ref, Version, Digest string
	// Resolved is true if the module has a list of modules that it imports. Local is true if
	// its own replacements apply.
	Resolved, Local bool
	// Root is the root of the module.
	Root int
	// Imports are the roots of the modules that it imports, by the paths of these with their
	// major versions.
	Imports map[string]int
	// Blocks are the places of its files in YAML files, by their shown names.
	Blocks map[string]yamlfile.Block `json:",omitempty"`
}

// encodedRoot is the file system of a module.
type encodedRoot struct {
	// Shown are the user's names for files and directories; nil if they are the default.
	Shown map[string]string `json:",omitempty"`
	// ShownIn is the user's name for the root, if the names of all files are paths below it.
	ShownIn string `json:",omitempty"`
	// Unreadable are the errors of files.
	Unreadable map[string]fileError `json:",omitempty"`
}

// fileError is an error of a file: an fs.PathError, or another one if Path is "".
type fileError struct{ Op, Path, Message string }

func fileErrorOf(err error) fileError {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return fileError{failed.Op, failed.Path, failed.Err.Error()}
	}
	return fileError{Message: err.Error()}
}

func (e fileError) err() error {
	if e.Path == "" {
		return errors.New(e.Message)
	}
	return &fs.PathError{Op: e.Op, Path: e.Path, Err: errors.New(e.Message)}
}

// Encode returns all that [Sources.Load] needs, as a zip archive without compression. Equal
// sources have equal bytes: they depend on nothing but the names and contents of the files
// that Load can read, on the references, and on the fields of the spec that it uses.
func (s *Sources) Encode() ([]byte, error) {
	m := manifest{Name: s.Name, From: s.From, Spec: specOf(s.Spec)}
	var all []*root
	for _, src := range append([]Source{s.Module}, s.Policies...) {
		roots, err := roots(src.Source)
		if err != nil {
			return nil, problem.List{{Position: problem.Position{File: s.From}, Path: src.Path, Rule: problem.RulePlatform, Message: err.Error()}}
		}
		e := encodedModule{
			Path: src.Path, Name: src.Name, Dir: src.Dir, Ref: src.Ref, Version: src.Version, Digest: src.Digest,
			Root: len(all), Blocks: roots[0].blocks(src.Place), Imports: map[string]int{},
		}
		if src.Modules != nil {
			e.Resolved, e.Local = true, src.Modules.List.IsLocal()
		}
		for i, r := range roots {
			if i > 0 {
				e.Imports[r.location.Module.Path()] = len(all) + i
			}
			m.Roots = append(m.Roots, r.encode())
		}
		m.Modules = append(m.Modules, e)
		all = append(all, roots...)
	}
	return archive(m, all, s.From)
}

// Digest returns the digest of encoded sources, as sha256:HEX.
func Digest(encoded []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(encoded)) }

// archive writes the entries.
func archive(m manifest, roots []*root, from string) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	count := 0
	add := func(name string, data []byte) error {
		if count++; count > maxEntries || b.Len()+len(data) > maxEncoded {
			return problem.List{{Position: problem.Position{File: from}, Rule: problem.RulePlatform, Message: fmt.Sprintf(
				"the modules have more than %d MiB or %d files", maxEncoded>>20, maxEntries)}}
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	}
	data, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if err := add(manifestName, data); err != nil {
		return nil, err
	}
	for i, r := range roots {
		dir := fmt.Sprintf("%d/", i)
		if err := add(dir, nil); err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(r.dirs)) {
			if err := add(dir+name+"/", nil); err != nil {
				return nil, err
			}
		}
		for _, name := range slices.Sorted(maps.Keys(r.files)) {
			if err := add(dir+name, r.files[name]); err != nil {
				return nil, err
			}
		}
	}
	err = w.Close()
	return b.Bytes(), err
}

// encode returns the root without its files.
func (r *root) encode() encodedRoot {
	e := encodedRoot{Unreadable: r.unreadable}
	if r.show == nil {
		return e
	}
	e.Shown, e.ShownIn = r.shown(), r.show(".")
	for name, shown := range e.Shown {
		if shown != path.Join(e.ShownIn, "/"+name) {
			e.ShownIn = ""
			return e
		}
	}
	e.Shown = nil
	return e
}

// specOf returns the fields of a Transform that Load uses.
func specOf(t v1alpha1.TransformSpec) encodedSpec {
	return encodedSpec{
		Group: t.Group, Version: t.Version, Kind: t.Kind, Plural: t.Plural, ShortNames: t.ShortNames, Categories: t.Categories,
		Scope: t.Scope, ServiceAccountName: t.ServiceAccountName, GraphDeletionPolicy: t.GraphDeletionPolicy,
	}
}

// spec returns the spec of a Transform with the fields of e.
func (e encodedSpec) spec() v1alpha1.TransformSpec {
	return v1alpha1.TransformSpec{
		Group: e.Group, Version: e.Version, Kind: e.Kind, Plural: e.Plural, ShortNames: e.ShortNames, Categories: e.Categories,
		Scope: e.Scope, ServiceAccountName: e.ServiceAccountName, GraphDeletionPolicy: e.GraphDeletionPolicy,
	}
}
