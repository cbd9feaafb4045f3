package platform

import (
	"context"
	"os"
	"path/filepath"
	"sync"

	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
	"github.com/pequod-io/pequod/modules/pin"
)

// published returns a reader for published modules with the configuration and the
// credentials of CUE, Docker and Podman. It accesses nothing, and reads no flag, until it
// is used.
func (f *RegistryFlags) published() modules.Published {
	pins := f.Pins
	if pins == nil {
		// The command has no flags for pins. The lock holds for it, too.
		pins = sync.OnceValues(func() (*pin.Pins, error) { return f.pins(nil) })
	}
	client := modpath.New(modpath.Options{
		Registry: os.Getenv("CUE_REGISTRY"),
		Artifacts: func(plain bool) (modpath.Artifacts, error) {
			p, err := pins()
			if err != nil {
				return nil, err
			}
			transport := p.Transport()
			if transport == nil {
				base, err := oci.Transport(f.caFile)
				if err != nil {
					return nil, err
				}
				transport = modpath.Logins(cueConfigDir(), base)
			}
			client, err := oci.New(oci.Options{
				Transport: transport,
				PlainHTTP: plain || f.plainHTTP,
				UserAgent: "pequod/" + version.Program(),
				Blobs:     p.Blobs(),
			})
			if err != nil {
				return nil, err
			}
			return p.Imports(client), nil
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

// cueConfigDir returns the directory in which "cue login" stores credentials, or "".
func cueConfigDir() string {
	if dir := os.Getenv("CUE_CONFIG_DIR"); dir != "" {
		return dir
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "cue")
}

// each calls a function for all elements at the same time. It returns the error of the
// first element, in their order, that has one.
func each[T any](all []T, call func(T) error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, v := range all {
		group.Go(func() { errs[i] = call(v) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
