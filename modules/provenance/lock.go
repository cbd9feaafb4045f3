package provenance

import (
	"strings"

	"github.com/pequod-io/pequod/modules/lock"
)

// Source returns the repository with the instances. ok is false if the statement names
// none.
func (b *Build) Source() (repository Resource, ok bool) {
	for _, r := range b.Dependencies {
		if r.Role() == Source && r.Digest[GitCommit] != "" {
			return r, true
		}
	}
	return Resource{}, false
}

// Lock returns the modules of registries with their digests, so that exactly these are
// loaded.
func (b *Build) Lock() *lock.File {
	file := &lock.File{}
	for _, r := range b.Dependencies {
		digest := r.Digest[SHA256]
		if digest == "" || r.Name == "" || r.Role() != Module && r.Role() != Import {
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
