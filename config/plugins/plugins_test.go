package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/test/harness"
)

const version = "1.2.3"

// files returns the archives that .goreleaser.yaml makes, by their names, and their systems.
// The one of this system has the program, others have their names as a program.
func files(t *testing.T, program string) (archives map[string][]byte, systems map[string]string) {
	t.Helper()
	var config struct {
		Builds []struct {
			Binary       string
			Goos, Goarch []string
		}
		Archives []struct {
			Formats         []string
			NameTemplate    string `json:"name_template"`
			FormatOverrides []struct {
				Goos    string
				Formats []string
			} `json:"format_overrides"`
		}
	}
	data, err := os.ReadFile("../../.goreleaser.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &config)
	}
	if err != nil {
		t.Fatal(err)
	}
	archives, systems = map[string][]byte{}, map[string]string{}
	for _, goos := range config.Builds[0].Goos {
		for _, goarch := range config.Builds[0].Goarch {
			a := config.Archives[0]
			format, name := a.Formats[0], config.Builds[0].Binary
			if o := a.FormatOverrides[0]; o.Goos == goos {
				format = o.Formats[0]
			}
			if goos == "windows" {
				name += ".exe"
			}
			content := []byte("program of " + goos + "/" + goarch)
			if goos == runtime.GOOS && goarch == runtime.GOARCH {
				if content, err = os.ReadFile(program); err != nil {
					t.Fatal(err)
				}
			}
			file := strings.NewReplacer("{{ .Version }}", version, "{{ .Os }}", goos, "{{ .Arch }}", goarch).Replace(a.NameTemplate) + "." + format
			systems[file] = goos + "/" + goarch
			archives[file] = pack(t, format, map[string][]byte{"LICENSE": []byte("license"), name: content})
		}
	}
	return archives, systems
}

// pack returns an archive of files.
func pack(t *testing.T, format string, content map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, g := zip.NewWriter(&b), gzip.NewWriter(&b)
	a := tar.NewWriter(g)
	for name, data := range content {
		var err error
		if format == "zip" {
			w, e := z.Create(name)
			if err = e; err == nil {
				_, err = w.Write(data)
			}
		} else if err = a.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data))}); err == nil {
			_, err = a.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if format == "zip" {
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// release writes a release to a directory, with both manifests.
func release(t *testing.T, archives map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	checksums := fmt.Sprintf("%064x  pequod_%s_linux_amd64.tar.gz.sbom.json\n", 1, version)
	for name, data := range archives {
		checksums += fmt.Sprintf("%x  %s\n", sha256.Sum256(data), name)
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "checksums.txt"), []byte(checksums), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// build returns the program of this checkout.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "pequod")
	cmd := exec.Command("go", "build", "-o", program, "../../cmd/pequod")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return program
}

// output runs a program with dir first in PATH, and returns its stdout.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "KUBECONFIG=/nonexistent", "NO_COLOR=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// manifest is a manifest for krew, whose unknown fields are errors.
type manifest struct {
	APIVersion, Kind string
	Metadata         struct{ Name string }
	Spec             struct {
		Version, Homepage, ShortDescription, Description string
		Platforms                                        []struct {
			URI, Sha256, Bin string
			Selector         struct{ MatchLabels map[string]string }
		}
	}
}

// TestKrew checks the manifest by the rules of krew's validation
// (sigs.k8s.io/krew/internal/index/validation) and of its naming guide, compares it with
// the archives, and runs the program as kubectl does after krew has installed it.
func TestKrew(t *testing.T) {
	archives, systems := files(t, build(t))
	dir := release(t, archives)
	data, err := os.ReadFile(filepath.Join(dir, "pequod-krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := yaml.UnmarshalStrict(data, &m); err != nil {
		t.Fatal(err)
	}
	if m.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || m.Kind != "Plugin" || m.Metadata.Name != "pequod" ||
		m.Spec.Version != "v"+version || m.Spec.Homepage == "" || m.Spec.Description == "" {
		t.Errorf("%+v", m)
	}
	if d := m.Spec.ShortDescription; d == "" || len(d) > 80 || strings.ContainsAny(d, "\r\n") {
		t.Errorf("short description %q", d)
	}
	var named []string
	for _, p := range m.Spec.Platforms {
		file := p.URI[strings.LastIndexByte(p.URI, '/')+1:]
		named = append(named, file)
		if !strings.HasPrefix(p.URI, source+"/releases/download/v"+version+"/") || p.Sha256 != fmt.Sprintf("%x", sha256.Sum256(archives[file])) ||
			!regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(p.Sha256) {
			t.Errorf("%s doesn't have the checksum of the archive", p.URI)
		}
		if l := p.Selector.MatchLabels; len(l) != 2 || l["os"]+"/"+l["arch"] != systems[file] {
			t.Errorf("%s is for %v", file, l)
		}
		if strings.HasSuffix(p.Bin, ".exe") != (p.Selector.MatchLabels["os"] == "windows") {
			t.Errorf("%s has the program %s", file, p.Bin)
		}
	}
	slices.Sort(named)
	if len(named) != len(archives) || len(slices.Compact(named)) != len(archives) {
		t.Errorf("platforms %v; want one for each of %d archives", named, len(archives))
	}

	// krew unpacks the archive and links the program as kubectl-pequod.
	bin, store := t.TempDir(), t.TempDir()
	harness.Kubectl(t, bin)
	for _, p := range m.Spec.Platforms {
		if p.Selector.MatchLabels["os"] == runtime.GOOS && p.Selector.MatchLabels["arch"] == runtime.GOARCH {
			archive := filepath.Join(dir, filepath.Base(p.URI))
			if out, err := exec.Command("tar", "-xzf", archive, "-C", store).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if err := os.Symlink(filepath.Join(store, p.Bin), filepath.Join(bin, "kubectl-pequod")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := output(t, bin, "kubectl", "pequod", "version"); !strings.HasPrefix(got, "pequod ") {
		t.Errorf("kubectl pequod version: %q", got)
	}
	if got := output(t, bin, "kubectl", "pequod", "render", "--help"); !strings.Contains(got, "kubectl pequod render -f FILENAME") {
		t.Errorf("kubectl pequod render --help:\n%s", got)
	}
	if got := output(t, bin, "kubectl", "plugin", "list"); !strings.Contains(got, filepath.Join(bin, "kubectl-pequod")) {
		t.Errorf("kubectl plugin list:\n%s", got)
	}
	// The completion of kubectl runs a second program, which docs/gitops.md shows.
	if err := os.WriteFile(filepath.Join(bin, "kubectl_complete-pequod"), []byte(completion(t)), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := output(t, bin, "kubectl", "__complete", "pequod", "ren"); !strings.Contains(got, "render\t") {
		t.Errorf("completion:\n%s", got)
	}
}

// completion returns the script of docs/gitops.md that completes kubectl pequod.
func completion(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(doc), "`kubectl_complete-pequod`:\n\n```sh\n")
	script, _, ended := strings.Cut(text, "```\n")
	if !found || !ended {
		t.Fatal("docs/gitops.md has no kubectl_complete-pequod")
	}
	return script
}

// catalog returns the environment variable that docs/gitops.md sets for flux plugin install.
func catalog(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^(FLUXCD_PLUGIN_CATALOG=\S+) flux plugin install pequod$`).FindSubmatch(doc)
	if found == nil {
		t.Fatal("docs/gitops.md has no flux plugin install")
	}
	return string(found[1])
}

// TestFlux installs the archives of all systems with the code of flux plugin install and the
// catalog of docs/gitops.md, from the addresses that a release has, and has it find and complete
// the one of this system.
func TestFlux(t *testing.T) {
	flux := filepath.Join(t.TempDir(), "flux")
	cmd := exec.Command("go", "build", "-o", flux, ".")
	cmd.Dir, cmd.Stderr = "../../test/flux", os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	archives, systems := files(t, build(t))
	dir := http.FileServer(http.Dir(release(t, archives)))
	addresses := http.NewServeMux()
	for _, of := range []string{"latest/download", "download/v" + version} {
		prefix := strings.TrimPrefix(source, "https:/") + "/releases/" + of + "/"
		addresses.Handle(prefix, http.StripPrefix(prefix, dir))
	}
	server := httptest.NewServer(addresses)
	defer server.Close()
	for file, system := range systems {
		plugins := t.TempDir()
		own := system == runtime.GOOS+"/"+runtime.GOARCH
		args := []string{server.URL, plugins, system}
		if own {
			args = append(args, "ren")
		}
		cmd := exec.Command(flux, args...)
		cmd.Env = append(os.Environ(), catalog(t))
		out, err := cmd.CombinedOutput()
		want := "flux pequod: " + version + " " + source + "/releases/download/v" + version + "/" + file + "\n"
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %v\n%s; want %s", system, err, out, want)
			continue
		}
		if !own {
			if got, err := os.ReadFile(filepath.Join(plugins, "flux-pequod")); err != nil || string(got) != "program of "+system {
				t.Errorf("%s: %v, %q", system, err, got)
			}
			continue
		}
		if !strings.Contains(string(out), "\nrender\t") {
			t.Errorf("completion:\n%s", out)
		}
		if got := output(t, plugins, "flux-pequod", "render", "--help"); !strings.Contains(got, "flux pequod render -f FILENAME") {
			t.Errorf("flux pequod render --help:\n%s", got)
		}
	}
}

// TestWrongReleases refuses a release whose archives are not those of its checksums.
func TestWrongReleases(t *testing.T) {
	good := map[string][]byte{"pequod_1.2.3_linux_amd64.tar.gz": []byte("one"), "pequod_1.2.3_linux_arm64.tar.gz": []byte("two")}
	for name, test := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"another archive": {func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "pequod_1.2.3_linux_amd64.tar.gz"), []byte("three"), 0o600)
		}, "pequod_1.2.3_linux_amd64.tar.gz: checksum"},
		"no archive": {func(dir string) error { return os.Remove(filepath.Join(dir, "pequod_1.2.3_linux_arm64.tar.gz")) }, "no such file"},
		"empty":      {func(dir string) error { return os.WriteFile(filepath.Join(dir, "checksums.txt"), nil, 0o600) }, "no archives"},
	} {
		dir := release(t, good)
		if err := test.change(dir); err != nil {
			t.Fatal(err)
		}
		if err := write(dir); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %s", name, err, test.want)
		}
	}
}
