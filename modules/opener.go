package modules

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Opener opens modules and remembers them, so that one run of a program opens
// each module once even if several Transforms, policies or diagnoses need it.
// The zero value is ready to use, and any number of goroutines may use it.
type Opener struct {
	mu     sync.Mutex
	opened map[moduleKey]*Files
}

// moduleKey identifies a module by its reference. Two spellings of one directory
// are two modules, because their files are shown under different names.
type moduleKey struct {
	sourceType v1alpha1.CueRefType
	// base is Options.BaseDir for path references, and "" for all others.
	base string
	// ref, path and digest are the fields of the CueRef.
	ref, path, digest string
}

// Open returns the module that ref refers to, as the function [Open] does. It
// opens the module on the first call and returns the same files on later calls.
// Errors are not remembered, so a later call tries again.
//
// Calls open modules one at a time. That is enough for sources on the local
// machine.
func (o *Opener) Open(ctx context.Context, ref v1alpha1.CueRef, options Options) (*Files, error) {
	if err := unsupportedFields(ref); err != nil { // they are not part of the key
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := moduleKey{sourceType: ref.Type, ref: ref.Ref, path: ref.Path, digest: ref.Digest}
	if ref.Type == v1alpha1.CueRefPath {
		key.base = filepath.Clean(options.BaseDir)
	}
	if files, ok := o.opened[key]; ok {
		return files, nil
	}
	files, err := Open(ctx, ref, options)
	if err != nil {
		return nil, err
	}
	if o.opened == nil {
		o.opened = map[moduleKey]*Files{}
	}
	o.opened[key] = files
	return files, nil
}
