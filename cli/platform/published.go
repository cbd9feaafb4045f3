package platform

import (
	"context"
	"os"
	"sync"

	"cuelang.org/go/mod/module"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/lock"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/pin"
	"github.com/pequod-io/pequod/modules/trust"
)

// published returns a reader for published modules with CUE's configuration of
// registries. It accesses nothing, and reads no flag, until it is used.
func (f *ModuleFlags) published(pins func() (*pin.Pins, error), rules func() (*trust.Guard, error)) modules.Published {
	client := modpath.New(modpath.Options{
		Registry: os.Getenv("CUE_REGISTRY"),
		Artifacts: func(plain bool) (oci.Artifacts, error) {
			client, err := f.Client()
			if plain && !f.plainHTTP {
				client, err = f.connect(true)
			}
			if err != nil {
				return nil, err
			}
			p, err := pins()
			if err != nil {
				return nil, err
			}
			return guarded(client, rules, p.Imports(client))
		},
		Digest: func(v module.Version) (string, error) {
			p, err := pins()
			if err != nil {
				return "", err
			}
			return p.Import(v.Path(), v.Version())
		},
		Records: records(pins),
	})
	return pinned{client, pins}
}

// pinned are published modules whose newest version is the one in pequod.lock.
type pinned struct {
	*modpath.Client
	pins func() (*pin.Pins, error)
}

// Latest implements modules.Published.
func (p pinned) Latest(ctx context.Context, path string) (module.Version, error) {
	pins, err := p.pins()
	if err != nil {
		return module.Version{}, err
	}
	locked, err := pins.Latest(path)
	if err != nil {
		return module.Version{}, err
	}
	if locked != "" {
		return module.NewVersion(path, locked)
	}
	v, err := p.Client.Latest(ctx, path)
	if err == nil {
		pins.RecordLatest(path, v.Version())
	}
	return v, err
}

// Locked returns a function that fetches the artifacts of modules of pequod.lock. Any number
// of goroutines may use it.
func (f *ModuleFlags) Locked() func(ctx context.Context, m lock.Module) (v1.Image, error) {
	sources := f.sources(f.Pins)
	imports := sources.Published.(pinned)
	return func(ctx context.Context, m lock.Module) (v1.Image, error) {
		if oci.IsRef(m.Ref) {
			ref, err := oci.ParseRef(m.Ref)
			if err != nil {
				return nil, err
			}
			artifacts, err := sources.Artifacts()
			if err != nil {
				return nil, err
			}
			return artifacts.Image(ctx, ref)
		}
		v, err := module.NewVersion(m.Path, m.Version)
		if err != nil {
			return nil, err
		}
		return imports.Image(ctx, v)
	}
}

// records are the records of the cache of pins. Pins that can't be read have none; the
// error is that of the first download.
type records func() (*pin.Pins, error)

// Remember implements modpath.Records.
func (r records) Remember(key, value string) {
	if p, err := r(); err == nil {
		p.Cache().Remember(key, value)
	}
}

// Recall implements modpath.Records.
func (r records) Recall(key string) (string, bool) {
	p, err := r()
	// A command that writes the lock asks the registry what a version is now.
	if err != nil || p.Recording() {
		return "", false
	}
	return p.Cache().Recall(key)
}

// each calls a function for all elements at the same time, and returns the results in the
// order of the elements. The error is that of the first element that has one.
func each[In, Out any](all []In, call func(In) (Out, error)) ([]Out, error) {
	results, errs := make([]Out, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	for i, v := range all {
		group.Go(func() { results[i], errs[i] = call(v) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}
