// Package gitops tests graphs with the controllers of Flux or the components of Argo CD in
// front of them, which run as processes beside the test cluster. `make e2e` builds them and
// runs the tests; `go test` skips them.
package gitops
