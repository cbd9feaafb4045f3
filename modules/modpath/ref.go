package modpath

import (
	"fmt"
	"strings"

	"cuelang.org/go/mod/module"

	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// modulePath matches the text before the version of a reference: a path whose first
// element is the name of a host. The path of a directory begins with a dot, a slash or
// a name without a dot, or has no version.
var modulePath = lazyregexp.New(`^[a-z0-9][-a-z0-9]*(\.[a-z0-9][-a-z0-9]*)+(/[^@:]+)?$`)

// version matches a major version, or the beginning of a version.
var version = lazyregexp.New(`^v[0-9]+(\.[^/]*)?$`)

// IsRef reports whether s has the form of the path of a module with a version, which
// [ParseRef] then parses. "@v" decides: example.com/shop is a directory, and
// ./example.com/shop@v1 is one, too.
func IsRef(s string) bool {
	path, v, _ := strings.Cut(s, "@")
	return version().MatchString(v) && modulePath().MatchString(path)
}

// ParseRef parses the path of a module with its version, example.com/shop@v1.4.0, or
// with a major version only, example.com/shop@v1. For the latter it returns a version
// that [module.Version.IsCanonical] denies.
func ParseRef(s string) (module.Version, error) {
	path, v, _ := strings.Cut(s, "@")
	major, _, full := strings.Cut(v, ".")
	if !full {
		v = ""
	}
	m, err := module.NewVersion(path+"@"+major, v)
	if err != nil {
		return module.Version{}, fmt.Errorf("%s: %w; want PATH@v1 or PATH@v1.2.3", s, err)
	}
	return m, nil
}
