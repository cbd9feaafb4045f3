package release

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// tag is the tag of the release, that of the manifests in config. TestMain sets it.
var tag string

// imageTag returns the tag of the image of the applier.
func imageTag() (string, error) {
	text, err := os.ReadFile("../../config/applier/base/kustomization.yaml")
	if err != nil {
		return "", err
	}
	var k struct{ Images []struct{ NewTag string } }
	if err := yaml.Unmarshal(text, &k); err != nil || len(k.Images) != 1 {
		return "", fmt.Errorf("%d images in the kustomization of the applier: %w", len(k.Images), err)
	}
	return k.Images[0].NewTag, nil
}

// programs are the programs of the images.
var programs = []string{"pequod-applier", "pequod-manager", "pequod-actions"}

// made is a release.
type made struct {
	// commit is what was cloned to src; dist has the files of the release.
	commit, src, dist string
	// images are the digests by program.
	images map[string]string
}

// root returns the directory of the checkout.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// run runs a program in a directory, and returns its stdout. GOFLAGS is empty, as in the workflow.
func run(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0", "GIT_CONFIG_GLOBAL=/dev/null"), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// head returns the last commit of the checkout.
func head(t *testing.T) string {
	t.Helper()
	return run(t, root(t), nil, "git", "rev-parse", "HEAD")
}

// clone returns a clone of a commit, which has the tag of the release.
func clone(t *testing.T, commit, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	run(t, root(t), nil, "git", "clone", "--quiet", "--no-checkout", ".", dir)
	run(t, dir, nil, "git", "checkout", "--quiet", "--detach", commit)
	run(t, dir, nil, "git", "remote", "set-url", "origin", "https://github.com/pequod-io/pequod")
	run(t, dir, nil, "git", "tag", "--force", tag)
	return dir
}

// serve starts a registry with an image that stands in for the base of .ko.yaml, and returns its
// address and the reference of the base with its digest.
func serve(t *testing.T) (address, base string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	address = strings.TrimPrefix(server.URL, "http://")
	var index v1.ImageIndex = empty.Index
	for _, architecture := range []string{"amd64", "arm64"} {
		image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
			OS: "linux", Architecture: architecture, Config: v1.Config{User: "65532"}, RootFS: v1.RootFS{Type: "layers"},
		})
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	ref, err := name.ParseReference(address + "/base:nonroot")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(ref, index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return address, address + "/base:nonroot@" + digest.String()
}

// platforms matches the platforms in .goreleaser.yaml.
var platforms = regexp.MustCompile(`goos: \[.*\]\n( +)goarch: \[.*\]`)

// everything reports whether the release is for all platforms, and not only for linux/amd64.
func everything() bool { return os.Getenv("PEQUOD_RELEASE") == "all" }

// build makes a release in a clone. Set again, the go command compiles everything again.
func build(t *testing.T, commit, name, address, base, signer string, again bool) made {
	t.Helper()
	m := made{commit: commit, src: clone(t, commit, name), images: map[string]string{}}
	m.dist = filepath.Join(m.src, "dist")
	bin, config := filepath.Join(root(t), "bin"), filepath.Join(m.src, ".goreleaser.yaml")
	var env []string
	if again {
		env = []string{"GOCACHE=" + t.TempDir()}
	}
	platform := "linux/amd64,linux/arm64"
	if !everything() {
		platform = "linux/amd64"
		text, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		config = filepath.Join(t.TempDir(), "goreleaser.yaml")
		if err := os.WriteFile(config, platforms.ReplaceAll(text, []byte("goos: [linux]\n${1}goarch: [amd64]")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	epoch := run(t, m.src, nil, "git", "log", "-1", "--format=%ct")
	for _, program := range programs {
		pushed := run(t, m.src, append([]string{
			"KO_DOCKER_REPO=" + address + "/" + name + "/" + program, "KO_DEFAULTBASEIMAGE=" + base, "SOURCE_DATE_EPOCH=" + epoch,
		}, env...), filepath.Join(bin, "ko"), "build", "--bare", "--sbom=spdx", "--tags="+tag, "--platform="+platform, "./cmd/"+program)
		m.images[program] = pushed[strings.LastIndex(pushed, "@")+1:]
	}
	if err := os.WriteFile(filepath.Join(m.src, "THIRD_PARTY_NOTICES.txt"), []byte(run(t, m.src, nil, "go", "run", "./test/notices")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The program cosign is this test.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	if err := os.Symlink(self, filepath.Join(path, "cosign")); err != nil {
		t.Fatal(err)
	}
	env = append(append(m.environment(), "PATH="+path+":"+bin+":"+os.Getenv("PATH"), signerVariable+"="+signer), env...)
	run(t, m.src, env, filepath.Join(bin, "goreleaser"), "check", "--quiet")
	run(t, m.src, env, filepath.Join(bin, "goreleaser"), "release", "--clean", "--config="+config, "--skip=publish,announce,before,validate")
	run(t, m.src, nil, "go", "run", "./config/plugins", "dist")
	return m
}

// environment returns the digests of the images as the workflow does.
func (m made) environment() []string {
	return []string{"IMAGE_DIGEST=" + m.images["pequod-applier"], "MANAGER_DIGEST=" + m.images["pequod-manager"], "ACTIONS_DIGEST=" + m.images["pequod-actions"]}
}

// files returns the files of the release that are the same in each build, by their names. Others have the
// time or random names: lists of contents, the checksums of these lists, and signatures.
func (m made) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(m.dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".gz", ".zip", ".rb":
		case ".yaml":
			if !strings.HasPrefix(e.Name(), "pequod") {
				continue // goreleaser's own configuration
			}
		default:
			continue
		}
		data, err := os.ReadFile(filepath.Join(m.dist, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = sum(data)
	}
	for program, digest := range m.images {
		all[program] = digest
	}
	return all
}
