package modules

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Opener opens modules and remembers them, so that one run of a program opens
// each module once even if several Transforms, policies or diagnoses need it.
// The zero value is ready to use, and any number of goroutines may use it.
type Opener struct {
	// Options are those of all modules. They must not be changed once Open is in use.
	Options Options
	// InTree returns the options for references that stand in a file of a tree. nil is
	// Options.
	InTree func(*Tree) (Options, error)
	// Of returns the options for one reference, which may name a Secret and demand a
	// signature: Of then answers for both. nil is Options, and such references are refused.
	Of func(ctx context.Context, ref v1alpha1.CueRef) (Options, error)
	// Instead returns the reference to open instead of another one. nil opens all references
	// as they are.
	Instead func(v1alpha1.CueRef) (v1alpha1.CueRef, error)

	mu     sync.Mutex // guards opened
	opened map[moduleKey]*opening
	// sealed is set by [Opener.Seal].
	sealed atomic.Bool
}

// opening is a module that is open or being opened.
type opening struct {
	mu    sync.Mutex // held while the module is opened
	files *Files     // nil if it is not open
	err   error      // of the last attempt
}

// moduleKey identifies a module by its reference. Two spellings of one directory
// are two modules, because their files are shown under different names.
type moduleKey struct {
	sourceType v1alpha1.CueRefType
	// place is zero for references that it does not matter for.
	place Place
	// ref, path and digest are the fields of the CueRef.
	ref, path, digest string
	// access has its fields that decide who may open it.
	access string
}

// Open returns the module that ref refers to, as the function [Open] does. It
// opens the module on the first call and returns the same files on later calls.
// Errors are not remembered, so a later call tries again.
//
// Different modules are opened at the same time, because fetching one can take long.
func (o *Opener) Open(ctx context.Context, ref v1alpha1.CueRef, at Place) (*Files, error) {
	if err := unsupportedFields(ref); err != nil && o.Of == nil { // they are not part of the key
		return nil, err
	}
	if o.Instead != nil {
		var err error
		if ref, err = o.Instead(ref); err != nil {
			return nil, err
		}
	}
	key := moduleKey{sourceType: ref.Type, ref: ref.Ref, path: ref.Path, digest: ref.Digest, access: access(ref)}
	key.place.Tree = at.Tree
	switch ref.Type {
	case v1alpha1.CueRefPath, v1alpha1.CueRefOCI:
		key.place.BaseDir = filepath.Clean(at.BaseDir)
	case v1alpha1.CueRefConfigMap:
		key.place.Namespace, key.place.ConfigMaps = at.Namespace, at.ConfigMaps
	case v1alpha1.CueRefInline:
		// The files are not part of the key, but a place has one reference only.
		if at.Inline == nil {
			return o.open(ctx, ref, at)
		}
		key.place.Inline = at.Inline
	}
	module := o.opening(key)
	module.mu.Lock()
	defer module.mu.Unlock()
	if module.files == nil && (module.err == nil || !o.sealed.Load()) {
		module.files, module.err = o.open(ctx, ref, at)
	}
	return module.files, module.err
}

// Seal has Open return the errors that it had until now instead of trying again: the process can't make
// requests any more.
func (o *Opener) Seal() { o.sealed.Store(true) }

// open opens a module with its options.
func (o *Opener) open(ctx context.Context, ref v1alpha1.CueRef, at Place) (*Files, error) {
	options := o.Options
	var err error
	switch {
	case o.Of != nil:
		options, err = o.Of(ctx, ref)
		ref.PullSecretRef, ref.Verify = nil, nil
	case at.Tree != nil && o.InTree != nil:
		options, err = o.InTree(at.Tree)
	}
	if err != nil {
		return nil, err
	}
	return Open(ctx, ref, at, options)
}

// access returns the fields of a reference that decide who may open the module, as text.
func access(ref v1alpha1.CueRef) string {
	if ref.PullSecretRef == nil && ref.Verify == nil {
		return ""
	}
	data, err := json.Marshal([]any{ref.PullSecretRef, ref.Verify})
	if err != nil {
		panic(err) // cannot happen: they are data
	}
	return string(data)
}

// Opened returns all modules that are open, in no particular order.
func (o *Opener) Opened() []*Files {
	o.mu.Lock()
	all := slices.Collect(maps.Values(o.opened))
	o.mu.Unlock()
	var opened []*Files
	for _, module := range all {
		module.mu.Lock()
		if module.files != nil {
			opened = append(opened, module.files)
		}
		module.mu.Unlock()
	}
	return opened
}

// opening returns the state of a module.
func (o *Opener) opening(key moduleKey) *opening {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.opened == nil {
		o.opened = map[moduleKey]*opening{}
	}
	if o.opened[key] == nil {
		o.opened[key] = &opening{}
	}
	return o.opened[key]
}
