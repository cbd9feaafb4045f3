package cache

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// The limits without variables. Modules are small: a module with the types of
// Kubernetes has about 1 MB.
const (
	defaultSizeMB   = 1024
	defaultTTLHours = 30 * 24
)

// FromEnvironment returns the options that these variables set:
//
//	PEQUOD_CACHE_DIR        the directory; modules are in its directory "modules"
//	PEQUOD_CACHE_SIZE_MB    the maximum size in MiB; 0 means no limit
//	PEQUOD_CACHE_TTL_HOURS  hours for which unused content is kept; 0 means forever
//
// The default directory is pequod in the user's cache directory. A process without a
// home directory keeps nothing. A file of settings cannot set these values: that of
// a repository could otherwise choose a directory to write to.
func FromEnvironment(getenv func(string) (string, bool)) (Options, error) {
	size, err := number(getenv, "PEQUOD_CACHE_SIZE_MB", defaultSizeMB, math.MaxInt64>>20)
	if err != nil {
		return Options{}, err
	}
	hours, err := number(getenv, "PEQUOD_CACHE_TTL_HOURS", defaultTTLHours, math.MaxInt64/int64(time.Hour))
	if err != nil {
		return Options{}, err
	}
	dir, _ := getenv("PEQUOD_CACHE_DIR")
	if dir == "" {
		if dir, err = os.UserCacheDir(); err == nil {
			dir = filepath.Join(dir, "pequod")
		}
	}
	// The variable is also the default of kubectl's flag --cache-dir, whose files are
	// beside this directory.
	if dir != "" {
		dir = filepath.Join(dir, "modules")
	}
	return Options{Dir: dir, MaxBytes: size << 20, MaxAge: time.Duration(hours) * time.Hour}, nil
}

// number returns the value of a variable that is a number of at most limit, or
// otherwise if it is unset.
func number(getenv func(string) (string, bool), name string, otherwise, limit int64) (int64, error) {
	text, _ := getenv(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > limit {
		return 0, fmt.Errorf("%s: %q is not a number from 0 to %d", name, text, limit)
	}
	return n, nil
}
