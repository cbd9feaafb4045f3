//go:build !linux

package vendored

// exchange puts a directory in the place of another one. old need not exist.
func exchange(fresh, old string) error { return renameBoth(fresh, old) }
