// Package transform loads the platform of a Transform.
//
// [Open] turns the spec of a Transform into [Sources]: the open module and the open policies
// that it refers to. It may fetch them, and evaluates nothing. [Sources.Load] evaluates them
// and returns the platform; it reads no network, no environment and nothing of the disk but
// modules that are there.
//
// The two steps can be done by two processes: [Sources.Encode] returns all files that Load
// needs as bytes, and [Decode] returns the sources that these bytes hold. A process that
// fetches with credentials so needs not evaluate what others wrote, and the process that
// evaluates needs no credentials.
//
// The package does not read Transforms. The command line has them from files, where
// mistakes have lines and columns, and the manager has them from a cluster.
package transform

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// ModulePath is the path of the reference to the module in a Transform.
const ModulePath = "spec.cueRef"

// PolicyPath returns the path of the reference to a policy in a Transform.
func PolicyPath(i int) string { return "spec.policies" + fieldpath.Index(i) }

// References returns the references of a Transform by their paths.
func References(spec v1alpha1.TransformSpec) map[string]v1alpha1.CueRef {
	refs := map[string]v1alpha1.CueRef{ModulePath: spec.CueRef}
	for i, ref := range spec.Policies {
		refs[PolicyPath(i)] = ref
	}
	return refs
}

// Sources are the open module and policies of a Transform. Nothing changes them once they
// are used, so any number of goroutines may use them.
type Sources struct {
	// Name is the name of the Transform, which the default kind is made of. It is "" for a
	// module without a Transform; then the name of the module is used.
	Name string
	// Spec is the spec of the Transform. After [Decode], it has only the fields that Load
	// uses.
	Spec v1alpha1.TransformSpec
	// From is the name of the Transform in messages: its file, or the reference of its module.
	From string
	// Module is the module, and Policies are the policies.
	Module   Source
	Policies []Source
}

// Source is an open module.
type Source struct {
	render.Source
	// Path is the path of the reference to it in the Transform.
	Path string
	// Name is its default name; see [modules.Files].
	Name string
	// Commit and Manifest are those of [modules.Files], or "". Load does not use them, and
	// they are "" after [Decode].
	Commit, Manifest string
}

// Of returns an open module in the form that package render takes, which doesn't know
// package modules.
func Of(f *modules.Files) render.Source {
	return render.Source{FS: f.FS, Dir: f.Dir, Show: f.Show, Ref: f.Ref, Version: f.Version, Digest: f.Digest, Modules: f.Modules, Place: f.Place}
}

// ErrLeftOut is the error that an opener returns for modules that are to be left out. [Open]
// leaves out such policies, and returns the error for such a module.
var ErrLeftOut = errors.New("the module is left out")

// Open opens the module and the policies of a Transform, all at the same time. place returns
// what the reference at a path is relative to. Open returns the errors of the opener as they
// are; see [Refused].
func Open(ctx context.Context, opener *modules.Opener, name string, spec v1alpha1.TransformSpec, place func(path string) modules.Place) (*Sources, error) {
	refs := append([]v1alpha1.CueRef{spec.CueRef}, spec.Policies...)
	opened, errs := make([]Source, len(refs)), make([]error, len(refs))
	var group sync.WaitGroup
	for i, ref := range refs {
		group.Go(func() {
			path := ModulePath
			if i > 0 {
				path = PolicyPath(i - 1)
			}
			// Parsers of what others wrote must not end the program.
			defer func() {
				if r := recover(); r != nil {
					errs[i] = fmt.Errorf("%s: opening the module: panic: %v", path, r)
				}
			}()
			var files *modules.Files
			if files, errs[i] = opener.Open(ctx, ref, place(path)); errs[i] == nil {
				opened[i] = Source{Source: Of(files), Path: path, Name: files.Name, Commit: files.Commit, Manifest: files.Manifest}
			}
		})
	}
	group.Wait()
	s := &Sources{Name: name, Spec: spec}
	for i, err := range errs {
		switch {
		case i > 0 && errors.Is(err, ErrLeftOut):
		case err != nil:
			return nil, err
		case i == 0:
			s.Module = opened[i]
		default:
			s.Policies = append(s.Policies, opened[i])
		}
	}
	s.From = s.Module.Ref
	return s, nil
}
