// Package resourceversion compares resource versions of Kubernetes objects.
package resourceversion

import "strconv"

// Older reports whether resource version a is older than b. Both must come from
// objects of the same kind in the same cluster. The API server's versions are
// decimal numbers that grow with every write; versions of any other form are
// never older.
func Older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
