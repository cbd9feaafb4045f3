// Package resourceversion compares resource versions of Kubernetes objects.
package resourceversion

import "strconv"

// Older reports whether resource version a is older than b. Both must be versions
// of objects of one kind in one cluster.
//
// Kubernetes calls resource versions opaque, but they are increasing decimal
// numbers in every release. A version of any other form is never older: the last
// object to arrive wins.
func Older(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
