package platform

import (
	"context"
	"errors"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/render"
)

// loadModule opens and loads the module that ref refers to, and returns it with
// its default name. The reference is relative to at.
func loadModule(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, at modules.Place) (*render.Module, string, error) {
	files, err := opener.Open(ctx, ref, at)
	if err != nil {
		return nil, "", Refused(err)
	}
	m, err := render.Load(sourceOf(files))
	return m, files.Name, err
}

// Refused returns the errors of opening a module as problems if the answer is no: what is
// there is not what the reference or its digest names, or no module. All other errors
// mean that there is no answer, and are returned as they are.
func Refused(err error) error {
	var not *artifact.NotModuleError
	var limit *artifact.LimitError
	var tooNew *artifact.TooNewError
	rule := problem.RulePlatform
	switch {
	case oci.Causes(err, oci.DigestMismatch):
		rule = problem.RuleDigest
	case errors.As(err, &not), errors.As(err, &limit), errors.As(err, &tooNew), oci.Causes(err, oci.WrongType), oci.Causes(err, oci.TooLarge):
	default:
		return err
	}
	return problem.List{{Rule: rule, Message: err.Error()}}
}

// moduleFiles returns the parsed files of a module whose evaluation was stopped,
// for an explanation of the cause. It does not evaluate the module, which would
// exceed the limit again, and returns nil if the module cannot be opened.
func moduleFiles(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, at modules.Place) []*ast.File {
	files, err := opener.Open(ctx, ref, at)
	if err != nil {
		return nil // loading the module reports the error
	}
	return sourceOf(files).Files()
}

// sourceOf returns the files of an open module in the form that render takes.
// render doesn't know package modules.
func sourceOf(f *modules.Files) render.Source {
	return render.Source{FS: f.FS, Dir: f.Dir, Show: f.Show, Ref: f.Ref, Version: f.Version, Digest: f.Digest, Modules: f.Modules, Place: f.Place}
}

// loadPolicy opens and loads a policy module. at is as in loadModule.
func loadPolicy(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, at modules.Place) (*render.Policy, error) {
	m, _, err := loadModule(ctx, opener, ref, at)
	if err != nil {
		return nil, err
	}
	return render.NewPolicy(m)
}
