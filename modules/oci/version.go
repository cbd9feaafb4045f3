package oci

import (
	"cmp"
	"strings"

	"golang.org/x/mod/semver"
)

// CompareVersions compares two tags as versions, with or without a leading v. Tags that
// are no versions come before all versions, in the order of their text.
func CompareVersions(a, b string) int {
	va, vb := "v"+strings.TrimPrefix(a, "v"), "v"+strings.TrimPrefix(b, "v")
	// An invalid version compares less than a valid one.
	return cmp.Or(semver.Compare(va, vb), strings.Compare(a, b))
}
