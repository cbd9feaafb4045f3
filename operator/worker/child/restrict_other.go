//go:build !linux

package child

// restrict does nothing: the manager runs on Linux, and elsewhere only in tests.
func restrict() error { return nil }
