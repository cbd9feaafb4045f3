// Package modules turns a reference to a platform module into files: an fs.FS
// that holds the module and nothing else. [ParseRef] reads what a user writes,
// [Open] finds the files; each kind of source has a file of its own. What the
// files mean is not this package's business.
package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Files is a module that was found. Close it when the module is loaded.
type Files struct {
	// FS has the module's root as its root, and no way out of it.
	FS fs.FS
	// Dir is the package's directory in FS, slash-separated.
	Dir string
	// Name is what the module is called where nothing else names it.
	Name string
	// Ref is what the user wrote, or would have written.
	Ref string
	// Version is set where the source has versions.
	Version string

	show  string
	close func() error
}

// Show gives a file of FS, slash-separated, the name that the user knows it by.
func (f *Files) Show(file string) string {
	file = strings.TrimPrefix(file, "/")
	if f.show == "" || f.show == "." {
		return file
	}
	return strings.TrimSuffix(f.show, "/") + "/" + file
}

// Close lets go of what the source held open.
func (f *Files) Close() error {
	if f.close == nil {
		return nil
	}
	return f.close()
}

// UnsupportedError says that a reference is of a kind that can't be opened here.
type UnsupportedError struct{ Type v1alpha1.CueRefType }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("module source %q is not supported; path and embedded are", e.Type)
}

// prefixes of references as users write them.
var prefixes = []struct {
	prefix string
	typ    v1alpha1.CueRefType
}{
	{"embedded:", v1alpha1.CueRefEmbedded},
	{"oci://", v1alpha1.CueRefOCI},
	{"git::", v1alpha1.CueRefGit},
}

// ParseRef reads a module reference: embedded:NAME, oci://…, git::…, or a
// directory.
func ParseRef(s string) (v1alpha1.CueRef, error) {
	if s == "" {
		return v1alpha1.CueRef{}, errors.New("empty module reference")
	}
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s, p.prefix); ok {
			if p.typ != v1alpha1.CueRefEmbedded {
				rest = s
			}
			return v1alpha1.CueRef{Type: p.typ, Ref: rest}, nil
		}
	}
	return v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: s}, nil
}

// Open finds a module. Paths are relative to base, which is the directory of
// the file that holds the reference, or "" for the working directory.
func Open(ref v1alpha1.CueRef, base string) (*Files, error) {
	switch ref.Type {
	case v1alpha1.CueRefEmbedded:
		return openEmbedded(ref.Ref)
	case v1alpha1.CueRefPath:
		return openPath(ref, base)
	case v1alpha1.CueRefOCI, v1alpha1.CueRefGit, v1alpha1.CueRefConfigMap, v1alpha1.CueRefInline:
		return nil, &UnsupportedError{ref.Type}
	}
	return nil, fmt.Errorf("unknown module source %q; known: embedded, oci, git, configmap, inline, path", ref.Type)
}
