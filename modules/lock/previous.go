package lock

import (
	"slices"
	"strings"
)

// Previous answers which modules an earlier lock has for the references and imports of
// today. The references in Transforms and the versions of imports may have changed together
// with the lock, so they need not be in the earlier one.
type Previous struct {
	// File has the modules of the earlier lock. An import whose version it lacks has the
	// module of the earlier version; an import that is new has the module of today. It names
	// no signers: the rules of today need not trust the earlier one.
	File *File
	from *File
	// replaced are the earlier modules by the names of those that replace them.
	replaced map[string]Module
}

// Before returns the modules of from for the references and imports in to.
func Before(from, to *File) Previous {
	p := Previous{File: &File{slices.Clone(from.Modules)}, from: from, replaced: map[string]Module{}}
	var added, removed []Module
	for _, c := range Compare(from, to) {
		switch {
		case c.Old == nil:
			added = append(added, *c.New)
		case c.New == nil:
			removed = append(removed, *c.Old)
		default:
			p.replaced[c.New.Name()] = *c.Old
		}
	}
	// A new major version, or another kind of reference to a module, is no change of one
	// entry, but it does replace the module.
	for _, n := range added {
		i := slices.IndexFunc(removed, func(m Module) bool { return n.Path != "" && m.basePath() == n.basePath() })
		if i >= 0 {
			p.replaced[n.Name()] = removed[i]
		}
	}
	for _, n := range to.Modules {
		if _, ok := from.Import(n.Path, n.Version); ok || n.Ref != "" {
			continue
		}
		// Within a major version, CUE loads one module for another one.
		if m, ok := p.replaced[n.Name()]; ok && m.Path == n.Path {
			m.Version, m.Ref = n.Version, ""
			n = m
		}
		p.File.Modules = append(p.File.Modules, n)
	}
	for i := range p.File.Modules {
		p.File.Modules[i].Signer = ""
	}
	return p
}

// Ref returns the reference by which the earlier lock has a module. ref is a reference
// without a digest, or a path with a version. It returns false for a module that is new.
func (p Previous) Ref(ref string) (string, bool) {
	if m, ok := p.replaced[ref]; ok {
		return m.Name(), true
	}
	_, ok := p.from.find(func(m Module) bool { return m.Name() == ref || m.pathVersion() == ref })
	return ref, ok
}

// basePath returns the path without the major version.
func (m Module) basePath() string {
	base, _, _ := strings.Cut(m.Path, "@")
	return base
}
