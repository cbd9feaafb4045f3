package pin

import (
	"cmp"
	"fmt"
	"strings"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/mod/semver"

	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/git"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/oci"
)

// recording has the artifacts that were read.
type recording struct {
	mu       sync.Mutex // guards all fields
	roots    map[oci.Ref]v1.Image
	imported map[oci.Ref]v1.Image
	// imports are the paths and versions of imported modules.
	imports map[[2]string]bool
	// latest has the versions of references with a major version only.
	latest map[string]string
	// revisions have the revisions of git repositories by their references.
	revisions map[string]*git.Snapshot
	// signers has the signers of artifacts by their digests.
	signers map[string]string
}

// record adds an entry to one of the maps of r.
func record[K comparable, V any](r *recording, to *map[K]V, key K, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[key] = value
}

// artifacts returns a function that adds artifacts to one of the maps of r, by their references
// without digests.
func (r *recording) artifacts(to *map[oci.Ref]v1.Image) func(oci.Ref, v1.Image) {
	return func(ref oci.Ref, img v1.Image) {
		ref.Digest = ""
		record(r, to, ref, img)
	}
}

// Recorded returns a lock of all modules that were read, if Options.Record is set. It
// reads artifacts once more, which takes no request if there is a cache.
func (p *Pins) Recorded() (*lock.File, error) {
	p.recorded.mu.Lock()
	defer p.recorded.mu.Unlock()
	var file lock.File
	for ref, img := range p.recorded.roots {
		m, err := p.recorded.entry(ref, img)
		if err != nil {
			return nil, err
		}
		if semver.IsValid(ref.Tag) {
			m.Version = ref.Tag
		}
		m.Ref = ref.String()
		file.Modules = append(file.Modules, m)
	}
	for ref, img := range p.recorded.imported {
		m, err := p.recorded.entry(ref, img)
		if err != nil {
			return nil, err
		}
		// A registry may have a prefix before the versions of a module.
		for i := range p.recorded.imports {
			if path, version := i[0], i[1]; path == m.Path && strings.HasSuffix(ref.Tag, version) && len(version) > len(m.Version) {
				m.Version = version
			}
		}
		m.Version = cmp.Or(m.Version, ref.Tag)
		file.Modules = append(file.Modules, m)
		// A reference without a full version is the module's path.
		if p.recorded.latest[m.Path] == m.Version {
			m.Ref = m.Path
			file.Modules = append(file.Modules, m)
		}
	}
	for ref, s := range p.recorded.revisions {
		content, err := contentOf(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		file.Modules = append(file.Modules, lock.Module{Version: s.Tag, Ref: ref, Commit: s.Commit, Content: content})
	}
	return &file, nil
}

// entry returns the entry of an artifact, without its version and reference. The caller
// holds mu.
func (r *recording) entry(ref oci.Ref, img v1.Image) (lock.Module, error) {
	info, files, err := artifact.Open(img)
	if err != nil {
		return lock.Module{}, oci.About(ref, err)
	}
	content, err := lock.Content(files)
	return lock.Module{Path: info.Path, Digest: info.Digest, Content: content, Signer: r.signers[info.Digest]}, err
}
