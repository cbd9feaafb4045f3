// Package lock reads and writes pequod.lock, the list of the modules from registries and
// git repositories that a repository uses, with their digests.
//
// The file has an entry for each reference in a Transform, a setting or a flag, and one
// for each module that these modules import:
//
//	version: 1
//	modules:
//	- path: example.com/k8s@v1
//	  version: v1.2.0
//	  digest: sha256:…
//	  content: h1:…
//	- path: example.com/shop/web@v1
//	  version: v1.4.0
//	  ref: oci://ghcr.io/acme/web:v1.4.0
//	  digest: sha256:…
//	  content: h1:…
//	- version: v1.4.0
//	  ref: git::https://git.example.com/platforms.git//web?ref=v1.4.0
//	  commit: '…'
//	  content: h1:…
//
// [Read] is strict and reports problems with their positions. [File.Bytes] is
// deterministic: the same modules give the same bytes, and each module has lines of its
// own, so that changes of different modules can be merged. [Compare] returns what
// differs between two files. The package opens no modules.
package lock

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// FileName is the name of the file, which is beside the pequod.yaml of a repository.
const FileName = "pequod.lock"

// format is the version of the format that this package reads and writes.
const format = 1

// Module is a module of a lock.
type Module struct {
	// Path is the module's path with its major version, such as example.com/web@v1. It is
	// empty for a git repository, which Ref identifies.
	Path string `json:"path,omitempty"`
	// Version is the module's version, such as v1.4.0. It is empty for an artifact whose
	// tag is not a version. For a git repository, it is the tag that Ref names.
	Version string `json:"version,omitempty"`
	// Ref is the reference that a user wrote, without a digest. It is empty for a module
	// that other modules import.
	Ref string `json:"ref,omitempty"`
	// Digest is the digest of the manifest, sha256:HEX. It is empty for git repositories.
	Digest string `json:"digest,omitempty"`
	// Commit is the full name of the commit of a git repository. It is empty for others.
	Commit string `json:"commit,omitempty"`
	// Content is the hash of the files of the module, or of the git revision: see
	// [Content].
	Content string `json:"content"`
	// Signer made the signature of the manifest, if a rule of pequod.yaml demands one.
	Signer string `json:"signer,omitempty"`
}

// Identity returns what stays the same when a module gets another version: its path, or
// the reference to a git repository without the revision.
func (m Module) Identity() string {
	repository, _, _ := strings.Cut(m.Ref, "?ref=")
	return cmp.Or(m.Path, repository)
}

// Name returns the name of a module for messages: its reference, or its path and
// version.
func (m Module) Name() string {
	if m.Ref != "" {
		return m.Ref
	}
	return m.pathVersion()
}

// pathVersion returns the path and version as in example.com/web@v1.4.0.
func (m Module) pathVersion() string {
	base, major, _ := strings.Cut(m.Path, "@")
	return base + "@" + cmp.Or(m.Version, major)
}

// key identifies a module in a file: two modules with one key are a duplicate.
func (m Module) key() string {
	if m.Ref != "" {
		return m.Ref
	}
	return m.Path + " " + m.Version
}

// File is the content of a lock.
type File struct{ Modules []Module }

// Root returns the entry of a reference without a digest.
func (f *File) Root(ref string) (Module, bool) {
	return f.find(func(m Module) bool { return m.Ref != "" && m.Ref == ref })
}

// Import returns the entry of a module that other modules import. path has the major
// version. An entry with a reference counts as well: it is the same module.
func (f *File) Import(path, version string) (Module, bool) {
	same := func(m Module) bool { return m.Path == path && m.Version == version }
	if m, ok := f.find(func(m Module) bool { return same(m) && m.Ref == "" }); ok {
		return m, true
	}
	return f.find(same)
}

// Digest returns an entry with the digest of a manifest.
func (f *File) Digest(digest string) (Module, bool) {
	return f.find(func(m Module) bool { return m.Digest == digest })
}

func (f *File) find(match func(Module) bool) (Module, bool) {
	if i := slices.IndexFunc(f.Modules, match); i >= 0 {
		return f.Modules[i], true
	}
	return Module{}, false
}

// Bytes returns the file as it is written to disk.
func (f *File) Bytes() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by 'pequod module lock'. Commit it, and do not edit it.\nversion: %d\nmodules:", format)
	if len(f.Modules) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, m := range sorted(f.Modules) {
		field := "- "
		for _, f := range []struct{ name, value string }{
			{"path", m.Path}, {"version", m.Version}, {"ref", m.Ref}, {"digest", m.Digest}, {"commit", m.Commit}, {"content", m.Content},
			{"signer", m.Signer},
		} {
			if f.value != "" {
				fmt.Fprintf(&b, "%s%s: %s\n", field, f.name, scalar(f.value))
				field = "  "
			}
		}
	}
	return []byte(b.String())
}

// plainPattern matches text that is a string to all YAML parsers without quotes.
var plainPattern = lazyregexp.New(`^[a-z][a-zA-Z0-9_-]*[./:@]([a-zA-Z0-9_./:@+=-]*[a-zA-Z0-9_./@+=-])?$`)

// scalar returns text as a YAML scalar. Names of files in references can have any
// printable characters; all other fields are plain.
func scalar(text string) string {
	if plainPattern().MatchString(text) && !strings.HasSuffix(text, ":") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// sorted returns modules by identity, version and reference.
func sorted(modules []Module) []Module {
	return slices.SortedFunc(slices.Values(modules), compare)
}

// compare is the order of modules in a file.
func compare(a, b Module) int {
	return cmp.Or(strings.Compare(a.Identity(), b.Identity()), strings.Compare(a.Version, b.Version), strings.Compare(a.Ref, b.Ref))
}

// Change is a module that differs between two files. Old is nil for a module that was
// added, and New for one that was removed.
type Change struct{ Old, New *Module }

// Compare returns the modules that differ between two files, in the order of a file. An
// imported module whose version has changed is one change, if only one version of it is
// in each file.
func Compare(from, to *File) []Change {
	var changes []Change
	left := slices.Clone(to.Modules)
	take := func(match func(Module) bool) *Module {
		i := slices.IndexFunc(left, match)
		if i < 0 {
			return nil
		}
		m := left[i]
		left = slices.Delete(left, i, i+1)
		return &m
	}
	var missing []Module
	for _, m := range sorted(from.Modules) {
		switch n := take(func(n Module) bool { return n.key() == m.key() }); {
		case n == nil:
			missing = append(missing, m)
		case *n != m:
			changes = append(changes, Change{&m, n})
		}
	}
	for _, m := range missing {
		// The reference of a root contains its version, so an upgrade changes both.
		n := take(func(n Module) bool { return n.Identity() == m.Identity() && (n.Ref == "") == (m.Ref == "") })
		changes = append(changes, Change{&m, n})
	}
	for _, n := range left {
		changes = append(changes, Change{nil, &n})
	}
	slices.SortFunc(changes, func(a, b Change) int { return compare(*cmp.Or(a.Old, a.New), *cmp.Or(b.Old, b.New)) })
	return changes
}

// Content returns the hash of all regular files of a file system: "h1:" and the SHA-256 of their
// sorted names and hashes, as go.sum has it. It depends on names and bytes only, so it is
// the same for a zip file, a directory and a checkout.
func Content(files fs.FS) (string, error) {
	var names []string
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return files.Open(name) })
}
