// Package release makes a release as .github/workflows/release.yaml does, without a network and
// without credentials: in a clone of the checkout, with images in a registry in memory and
// signatures of a Sigstore instance in memory. It makes it again in another clone, with a go command that
// has compiled nothing, compares the bytes, and checks what the release consists of. The workflow's
// provenance is made by an action of GitHub: a statement of the same form takes its place.
//
// `make release-check` builds goreleaser, ko and syft, and runs the tests for linux/amd64;
// `make release-check PLATFORMS=all` for all platforms. `go test` only links one program twice.
package release
