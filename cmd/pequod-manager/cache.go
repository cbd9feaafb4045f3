package main

import (
	"cmp"

	"github.com/pequod-io/pequod/modules/cache"
)

// cacheDefaults are the values of the variables of the cache that are not set. They differ
// from those of the command line: the manager has no home directory, its directory is
// usually a volume of the Pod, and it uses few modules.
var cacheDefaults = map[string]string{
	"PEQUOD_CACHE_DIR":       "/tmp/pequod-cache",
	"PEQUOD_CACHE_SIZE_MB":   "100",
	"PEQUOD_CACHE_TTL_HOURS": "24",
}

// cacheOptions returns the options of the cache by the environment.
func cacheOptions(getenv func(string) (string, bool)) (cache.Options, error) {
	return cache.FromEnvironment(func(name string) (string, bool) {
		value, set := getenv(name)
		value = cmp.Or(value, cacheDefaults[name])
		return value, set || value != ""
	})
}
