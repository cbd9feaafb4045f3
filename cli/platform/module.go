package platform

import (
	"context"

	"cuelang.org/go/cue/ast"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/render"
)

// moduleFiles returns the parsed files of a module whose evaluation was stopped,
// for an explanation of the cause. It does not evaluate the module, which would
// exceed the limit again, and returns nil if the module cannot be opened.
func moduleFiles(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, at modules.Place) []*ast.File {
	files, err := opener.Open(ctx, ref, at)
	if err != nil {
		return nil // loading the module reports the error
	}
	return transform.Of(files).Files()
}

// loadPolicy opens and loads the policy module that ref refers to. The reference is relative
// to at.
func loadPolicy(ctx context.Context, opener *modules.Opener, ref v1alpha1.CueRef, at modules.Place) (*render.Policy, error) {
	files, err := opener.Open(ctx, ref, at)
	if err != nil {
		return nil, transform.Refused(err)
	}
	return transform.LoadPolicy(transform.Of(files))
}
