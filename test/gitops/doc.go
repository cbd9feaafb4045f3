// Package gitops tests graphs with the controllers of Flux in front of them, which run as
// processes beside the test cluster. `make e2e` builds the controllers and runs the tests;
// `go test` skips them.
package gitops
