package distribute

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/gitfs"
	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/provenance"
)

// The flags of push that decide about the content of a bundle. They are the parameters in
// its provenance if they don't have their defaults.
var (
	// fileParameters name files.
	fileParameters = []string{"crd", "filename", "platform", "policy"}
	// otherParameters are all others.
	otherParameters = []string{
		"allow-escalation", "allow-secrets", "annotate", "applier", "by-name", "constrained", "crds", "default-service-account", "format",
		"namespace", "rbac", "recursive", "resource", "transforms", "watch-secrets",
	}
)

// outside is the beginning of names of files outside of the repository. Only the last
// element of their path follows: the rest is a matter of the machine.
const outside = "outside:"

// build returns the description of how a bundle was made, or nil if --provenance is off.
// commit may be nil.
func (o *pushOptions) build(commit *gitfs.Commit) (*provenance.Build, error) {
	if !o.withProvenance {
		return nil, nil
	}
	base, wd, err := files.Base()
	if err != nil {
		return nil, err
	}
	at := checkout{base, wd}
	return &provenance.Build{
		Parameters: at.parameters(o.flags), Version: version.Program(),
		Dependencies: append(o.sourceOf(commit), at.modules(o.Modules.Opened(), o.digests)...),
	}, nil
}

// sourceOf returns the repository and the commit of the instances, or nothing if they are in
// no repository.
func (o *pushOptions) sourceOf(commit *gitfs.Commit) []provenance.Resource {
	if commit == nil {
		return nil
	}
	repository := provenance.Resource{
		URI:         cmp.Or(o.source, commit.Source),
		Digest:      map[string]string{provenance.GitCommit: commit.ID},
		Annotations: &provenance.Annotations{Role: provenance.Source, Dirty: commit.Change != ""},
	}
	if strings.Contains(repository.URI, "://") {
		repository.URI = "git+" + repository.URI
	}
	return []provenance.Resource{repository}
}

// checkout is the place of the files of a bundle: the directories that [files.Base] returns.
type checkout struct{ base, wd string }

// parameters returns the flags that decide about the content, unless they have their
// defaults.
func (at checkout) parameters(flags *pflag.FlagSet) map[string]any {
	set := map[string]any{}
	for _, name := range slices.Concat(fileParameters, otherParameters) {
		f := flags.Lookup(name)
		if f.Value.String() == f.DefValue {
			continue
		}
		list, ok := f.Value.(pflag.SliceValue)
		switch {
		case ok:
			values := slices.Clone(list.GetSlice())
			if slices.Contains(fileParameters, name) {
				for i := range values {
					values[i] = at.portable(values[i])
				}
			}
			set[name] = values
		case f.Value.Type() == "bool":
			set[name] = f.Value.String() == "true"
		default:
			set[name] = f.Value.String()
		}
	}
	return set
}

// portable returns the value of a flag that names a file, or something else, in a form that
// means the same on another machine.
func (at checkout) portable(value string) string {
	switch {
	case value == "-":
		return value
	case oci.IsRef(value):
		ref, err := oci.ParseRef(value)
		if err != nil || ref.Kind == oci.Registry {
			return value
		}
		file, ok := files.Below(at.base, at.wd, ref.File)
		if !ok {
			return outside + filepath.Base(ref.File)
		}
		ref.File = file
		return ref.String()
	case strings.HasPrefix(value, "git::file:"):
		return outside + filepath.Base(value)
	case !modules.IsPath(value):
		return value
	}
	if file, ok := files.Below(at.base, at.wd, value); ok {
		return file
	}
	if rev, file, ok := gitfs.Cut(value); ok {
		return rev + ":" + at.portable(file)
	}
	return outside + filepath.Base(value)
}

// modules returns all modules that were opened, and those that they import, sorted. digests
// are those of the content, by reference.
func (at checkout) modules(opened []*modules.Files, digests map[string]string) []provenance.Resource {
	var all []provenance.Resource
	for _, f := range opened {
		all = append(all, at.module(f, digests[f.Ref]))
		if f.Modules == nil {
			continue
		}
		for location, imported := range f.Modules.Modules {
			r := provenance.Resource{Name: location.String(), Annotations: &provenance.Annotations{Role: provenance.Import}}
			if imported.Digest != "" {
				r.Digest = sha256Of(imported.Digest)
			} else {
				r.URI = at.portable(location.Dir)
			}
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b provenance.Resource) int {
		// Modules stand before imports.
		return cmp.Or(strings.Compare(b.Role(), a.Role()), strings.Compare(a.Name, b.Name), strings.Compare(a.URI, b.URI))
	})
	return slices.CompactFunc(all, func(a, b provenance.Resource) bool {
		return a.Role() == b.Role() && a.Name == b.Name && a.URI == b.URI
	})
}

// module returns the description of a module. The content of a directory, and of an
// embedded module, is determined by the digest that graphs record.
func (at checkout) module(f *modules.Files, digest string) provenance.Resource {
	r := provenance.Resource{URI: at.portable(f.Ref), Annotations: &provenance.Annotations{Role: provenance.Module}}
	switch {
	case f.Manifest != "":
		r.Name, r.Digest = f.Show("."), sha256Of(f.Manifest)
	case f.Commit != "":
		r.Name, r.Digest = f.Show("."), map[string]string{provenance.GitCommit: f.Commit}
	case digest != "":
		r.Digest = sha256Of(digest)
	}
	return r
}

// sha256Of returns a digest in the form of in-toto.
func sha256Of(digest string) map[string]string {
	return map[string]string{provenance.SHA256: strings.TrimPrefix(digest, "sha256:")}
}
