package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/pequod-io/pequod/modules/sign"
	"github.com/pequod-io/pequod/test/sigstore"
)

// TestSnapshot makes a release, makes it again, compares the bytes, and checks the archives, their lists of
// contents, the checksums, the images, the signature and the provenance.
func TestSnapshot(t *testing.T) {
	if os.Getenv("PEQUOD_RELEASE") == "" {
		t.Skip("make release-check makes releases")
	}
	address, base := serve(t)
	var used []*sigstore.Instance
	signs, commit := signer(t, &used), head(t)
	first := build(t, commit, "first", address, base, signs, false)
	second := build(t, commit, "second", address, base, signs, true)
	got := first.files(t)
	if diff := cmp.Diff(got, second.files(t)); diff != "" {
		t.Errorf("the releases differ (-first +second):\n%s", diff)
	}
	for _, want := range append([]string{"pequod-krew.yaml", "pequod.yaml", "pequod.rb"}, programs...) {
		if got[want] == "" {
			t.Errorf("the release has no %s: %v", want, got)
		}
	}
	archive := archiveOf("linux_amd64.tar.gz")
	archives, checksums := []string{archive}, first.checksums(t)
	if everything() {
		for _, suffix := range []string{"linux_arm64.tar.gz", "darwin_amd64.tar.gz", "darwin_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip"} {
			archives = append(archives, archiveOf(suffix))
		}
	}
	for _, name := range archives {
		if got[name] == "" || checksums[name] != got[name] || checksums[name+".sbom.json"] == "" {
			t.Errorf("%s: %q, checksums %v", name, got[name], checksums)
		}
	}
	program := first.unpack(t, archive)
	first.checkProgram(t, program)
	checkContents(t, program, filepath.Join(first.dist, archive+".sbom.json"), filepath.Join(first.src, "THIRD_PARTY_NOTICES.txt"))
	first.checkImages(t, address, base)
	first.checkSignatures(t, used[0], checksums)
}

// archiveOf returns the name of the archive with a suffix, such as linux_amd64.tar.gz.
func archiveOf(suffix string) string {
	return "pequod_" + strings.TrimPrefix(tag, "v") + "_" + suffix
}

// checksums returns checksums.txt by names, after each file was compared.
func (m made) checksums(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dist, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		digest, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(m.dist, name))
		if err != nil || sum(data) != digest {
			t.Errorf("%s: %s in checksums.txt, %v", name, digest, err)
		}
		all[name] = digest
	}
	return all
}

// unpack checks the entries of an archive, and returns the file of the program.
func (m made) unpack(t *testing.T, archive string) string {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join(m.dist, archive))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	notices, err := os.ReadFile(filepath.Join(m.src, "THIRD_PARTY_NOTICES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "pequod")
	commit := run(t, m.src, nil, "git", "log", "-1", "--format=%cI")
	modes := map[string]int64{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if at, err := time.Parse(time.RFC3339, commit); err != nil || h.Uname != "root" || h.Gname != "root" || !h.ModTime.Equal(at) {
			t.Errorf("%s is of %s:%s and from %s, not from %s (%v)", h.Name, h.Uname, h.Gname, h.ModTime, commit, err)
		}
		modes[h.Name] = h.Mode
		switch h.Name {
		case "pequod":
			err = os.WriteFile(program, data, 0o700)
		case "THIRD_PARTY_NOTICES.txt":
			if !bytes.Equal(data, notices) {
				t.Errorf("the notices have %d bytes, not the %d that make notices writes", len(data), len(notices))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]int64{"LICENSE": 0o644, "README.md": 0o644, "THIRD_PARTY_NOTICES.txt": 0o644, "pequod": 0o755}, modes); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	return program
}

// checkProgram compares the program with what make build makes in another clone.
func (m made) checkProgram(t *testing.T, program string) {
	t.Helper()
	if got := run(t, m.src, nil, program, "version"); !strings.HasPrefix(got, "pequod "+tag+" ") {
		t.Errorf("pequod version: %q", got)
	}
	src := clone(t, m.commit, "by hand")
	run(t, src, nil, "make", append([]string{"build", "VERSION=" + tag}, m.environment()...)...)
	want, err := os.ReadFile(filepath.Join(src, "bin", "pequod"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		t.Errorf("make build makes %d bytes (%s), the release has %d (%s)", len(want), sum(want), len(got), sum(got))
	}
}

// checkContents checks that a list of contents in SPDX, and the notices, have each module that the
// program links.
func checkContents(t *testing.T, program, list, notices string) {
	t.Helper()
	licenses, err := os.ReadFile(notices)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var spdx struct {
		SPDXVersion string
		Packages    []struct{ Name, VersionInfo string }
	}
	if err := json.Unmarshal(data, &spdx); err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, p := range spdx.Packages {
		listed[p.Name] = p.VersionInfo
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range info.Deps {
		if listed[module.Path] != module.Version {
			t.Errorf("%s has %s %q, want %s", filepath.Base(list), module.Path, listed[module.Path], module.Version)
		}
		if !bytes.Contains(licenses, []byte(module.Path+" "+module.Version+"\n")) {
			t.Errorf("%s has no %s %s", filepath.Base(notices), module.Path, module.Version)
		}
	}
	if !strings.HasPrefix(spdx.SPDXVersion, "SPDX-2") || len(info.Deps) == 0 {
		t.Errorf("version %q; %d modules", spdx.SPDXVersion, len(info.Deps))
	}
}

// checkImages checks the images in the registry: they are on the image of the base for their platform, run
// as its user, and have a list of contents.
func (m made) checkImages(t *testing.T, address, base string) {
	t.Helper()
	ref, err := name.NewDigest(base)
	if err != nil {
		t.Fatal(err)
	}
	bases := imagesOf(t, ref)
	for _, program := range programs {
		repository := address + "/first/" + program
		if ref, err = name.NewDigest(repository + "@" + m.images[program]); err != nil {
			t.Fatal(err)
		}
		images := imagesOf(t, ref)
		if images["amd64"] == nil || everything() && images["arm64"] == nil {
			t.Errorf("%s is for %v", program, slices.Collect(maps.Keys(images)))
		}
		for architecture, image := range images {
			manifest, err := image.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			digest, err := bases[architecture].Digest()
			if got := manifest.Annotations["org.opencontainers.image.base.digest"]; err != nil || got != digest.String() {
				t.Errorf("%s is based on %q, not %s (%v)", program, got, digest, err)
			}
			checkImage(t, image, repository, program)
		}
	}
}

// imagesOf returns the images of an index, or the only one, by their architecture.
func imagesOf(t *testing.T, ref name.Reference) map[string]v1.Image {
	t.Helper()
	found, err := remote.Get(ref)
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	if !found.MediaType.IsIndex() {
		if images["amd64"], err = found.Image(); err != nil {
			t.Fatal(err)
		}
		return images
	}
	index, err := found.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		if images[d.Platform.Architecture], err = index.Image(d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return images
}

// checkImage checks that an image runs a program as the user of the base, and has a list of contents.
func checkImage(t *testing.T, image v1.Image, repository, program string) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532" || !slices.Equal(config.Config.Entrypoint, []string{"/ko-app/" + program}) {
		t.Errorf("%s: %+v", program, config.Config)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	sbom, err := name.NewTag(repository + ":" + digest.Algorithm + "-" + digest.Hex + ".sbom")
	if err != nil {
		t.Fatal(err)
	}
	list, err := remote.Image(sbom)
	if err != nil {
		t.Fatalf("%s has no list of contents: %v", program, err)
	}
	layers, err := list.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil || !bytes.Contains(text, []byte("k8s.io/client-go")) || !bytes.Contains(text, []byte("SPDX-2")) {
		t.Errorf("the list of contents of %s: %v\n%.300s", program, err, text)
	}
}

// checkSignatures checks that the signature of checksums.txt and the provenance of all archives and
// images are those of the release workflow, and of nothing else.
func (m made) checkSignatures(t *testing.T, instance *sigstore.Instance, checksums map[string]string) {
	t.Helper()
	release, other := trust(t, instance)
	signed, err := os.ReadFile(filepath.Join(m.dist, "checksums.txt.sigstore.json"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(m.dist, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := release.Verify(sign.Bundle{Data: signed}, "sha256:"+sum(text)); err != nil {
		t.Errorf("checksums.txt: %v", err)
	}
	if _, err := release.Verify(sign.Bundle{Data: signed}, "sha256:"+sum(append(text, '\n'))); err == nil {
		t.Error("changed checksums have a valid signature")
	}
	if _, err := other.Verify(sign.Bundle{Data: signed}, "sha256:"+sum(text)); err == nil {
		t.Error("the signature is also that of another workflow")
	}
	if instance, err = sigstore.New(); err != nil {
		t.Fatal(err)
	}
	release, _ = trust(t, instance)
	// actions/attest-build-provenance makes this statement in the workflow.
	var digests []string
	for _, digest := range checksums {
		digests = append(digests, digest)
	}
	for _, digest := range m.images {
		digests = append(digests, strings.TrimPrefix(digest, "sha256:"))
	}
	const slsa = "https://slsa.dev/provenance/v1"
	provenance, err := instance.Sign(subject(), issuer, statement(slsa, map[string]any{
		"buildDefinition": map[string]any{"buildType": "https://actions.github.io/buildtypes/workflow/v1", "externalParameters": map[string]any{"workflow": map[string]string{"ref": "refs/tags/" + tag}}},
	}, digests...), instance.Valid())
	if err != nil {
		t.Fatal(err)
	}
	for _, digest := range digests {
		if got, err := release.Verify(sign.Bundle{Data: provenance}, "sha256:"+digest); err != nil || got.Type != slsa {
			t.Errorf("%s has no provenance: %v", digest, err)
		}
	}
	if _, err := release.Verify(sign.Bundle{Data: provenance}, "sha256:"+sum([]byte("another"))); err == nil {
		t.Error("another file has the provenance")
	}
}
