// Package release makes releases as .github/workflows/release.yaml does, twice, without a network
// and without credentials: in clones of the checkout, with images in a registry in memory and
// signatures of a Sigstore instance in memory. It compares their bytes and checks what they consist
// of. `make release-check` builds goreleaser, ko and syft, and runs the tests; `go test` only makes
// one program twice.
package release
