package mcp

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/internal/gitfs"
)

// revision returns the path of a value of the form REV:PATH. A file of that name in dir wins,
// as it does for commands.
func revision(dir, v string) (file string, ok bool) {
	if _, err := os.Lstat(filepath.Join(dir, v)); err == nil || strings.Contains(v, "://") || strings.Contains(v, "::") ||
		strings.HasPrefix(v, "embedded:") || strings.HasPrefix(v, "oci-layout:") {
		return "", false
	}
	_, file, ok = gitfs.Cut(v)
	return file, ok
}
