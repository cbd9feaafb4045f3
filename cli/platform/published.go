package platform

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/pequod-io/pequod/internal/version"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/cache"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/oci"
)

// published returns a client for published modules with the configuration and the
// credentials of CUE, Docker and Podman. It accesses nothing, and reads no flag, until it
// is used.
func (f *RegistryFlags) published() modules.Published {
	kept := sync.OnceValues(openCache)
	return modpath.New(modpath.Options{
		Registry: os.Getenv("CUE_REGISTRY"),
		Artifacts: func(plain bool) (modpath.Artifacts, error) {
			c, err := kept()
			if err != nil {
				return nil, err
			}
			transport, err := oci.Transport(f.caFile)
			if err != nil {
				return nil, err
			}
			return oci.New(oci.Options{
				Transport: modpath.Logins(cueConfigDir(), transport),
				PlainHTTP: plain || f.plainHTTP,
				UserAgent: "pequod/" + version.Program(),
				Blobs:     c,
			})
		},
		Records: records(kept),
	})
}

// content is the cache as package oci uses it.
type content struct{ *cache.Cache }

// Get implements oci.Blobs.
func (c content) Get(ctx context.Context, digest string, size int64, fetch func(context.Context) (io.ReadCloser, error)) ([]byte, error) {
	return c.Cache.Get(ctx, digest, size, fetch)
}

// openCache returns the cache that the environment configures.
func openCache() (content, error) {
	o, err := cache.FromEnvironment(os.LookupEnv)
	if err != nil {
		return content{}, err
	}
	return content{cache.Open(o)}, nil
}

// records are the records of a cache that is opened on first use. One that can't be
// opened has none; the error is that of the first download.
type records func() (content, error)

// Remember implements modpath.Records.
func (r records) Remember(key, value string) {
	if c, err := r(); err == nil {
		c.Cache.Remember(key, value)
	}
}

// Recall implements modpath.Records.
func (r records) Recall(key string) (string, bool) {
	c, err := r()
	if err != nil {
		return "", false
	}
	return c.Cache.Recall(key)
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
