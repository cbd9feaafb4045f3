package distribute

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/provenance"
)

// setParameters sets the flags that [checkout.parameters] has returned. It is an error if
// another flag is among them, or a file outside of the repository.
func (at checkout) setParameters(flags *pflag.FlagSet, parameters map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		isFile := slices.Contains(fileParameters, name)
		if !isFile && !slices.Contains(otherParameters, name) {
			return fmt.Errorf("the provenance has the parameter %q, which this version of pequod does not know", name)
		}
		values, ok := parameters[name].([]any)
		if !ok {
			values = []any{parameters[name]}
		}
		for _, v := range values {
			value := fmt.Sprint(v)
			if isFile {
				var err error
				if value, err = at.local(value); err != nil {
					return fmt.Errorf("--%s: %w", name, err)
				}
			}
			if err := flags.Set(name, value); err != nil {
				return fmt.Errorf("the provenance has %w", err)
			}
		}
	}
	return nil
}

// local is the reverse of [checkout.portable]: it returns the value of a flag for the
// working directory.
func (at checkout) local(value string) (string, error) {
	if name, ok := strings.CutPrefix(value, outside); ok {
		return "", fmt.Errorf("%s was outside of the repository, so the bundle can't be rendered again", source.Escape(name, ""))
	}
	switch {
	case value == "-":
		return value, nil
	case oci.IsRef(value):
		ref, err := oci.ParseRef(value)
		if err != nil || ref.Kind == oci.Registry {
			return value, err
		}
		ref.File, err = at.file(ref.File)
		return ref.String(), err
	case strings.HasPrefix(value, "git::file:"):
		return "", fmt.Errorf("%q is a place on another machine", value)
	case !modules.IsPath(value):
		return value, nil
	}
	if _, err := os.Lstat(filepath.Join(at.base, filepath.FromSlash(value))); err != nil {
		if rev, name, ok := gitfs.Cut(value); ok && rev != "" && !strings.HasPrefix(rev, "-") {
			name, err := at.file(name)
			return rev + ":" + filepath.ToSlash(name), err
		}
	}
	return at.file(value)
}

// file returns the name of a file of the repository for the working directory.
func (at checkout) file(name string) (string, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return "", fmt.Errorf("%q leads out of the repository", name)
	}
	rel, err := filepath.Rel(at.wd, filepath.Join(at.base, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	// A reference to a directory must not look like one to a published module.
	if modules.IsPath(rel) {
		return rel, nil
	}
	return "." + string(filepath.Separator) + rel, nil
}

// equalDigests reports whether two sets of digests have a digest in common, and none that
// differs.
func equalDigests(a, b map[string]string) bool {
	common := false
	for name, digest := range a {
		if other, ok := b[name]; ok {
			if other != digest {
				return false
			}
			common = true
		}
	}
	return common
}

// noDigest is the text for a module whose content only the commit determines.
const noDigest = "no digest"

// digestText returns the digest of a module for people.
func digestText(digests map[string]string) string {
	for _, name := range []string{provenance.SHA256, provenance.GitCommit} {
		if digest := digests[name]; digest != "" {
			return source.Escape(strings.TrimPrefix(name+":", provenance.GitCommit+":")+digest, "")
		}
	}
	return noDigest
}

// lockOf returns the modules of registries with their digests, so that exactly these are
// loaded.
func lockOf(b *provenance.Build) *lock.File {
	file := &lock.File{}
	for _, r := range b.Dependencies {
		digest := r.Digest[provenance.SHA256]
		if digest == "" || r.Name == "" || r.Role() != provenance.Module && r.Role() != provenance.Import {
			continue // a directory, an embedded module, or one of git
		}
		m := lock.Module{Ref: r.URI, Digest: "sha256:" + digest}
		base, version, _ := strings.Cut(r.Name, "@")
		m.Path, m.Version = base, version
		if major, _, ok := strings.Cut(version, "."); ok {
			m.Path += "@" + major
		}
		if strings.HasPrefix(m.Ref, "oci://") {
			m.Ref, _, _ = strings.Cut(m.Ref, "@")
		}
		file.Modules = append(file.Modules, m)
	}
	return file
}
