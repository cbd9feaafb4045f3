package action

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// archiveName is the name of the archive that .goreleaser.yaml makes for this machine.
var archiveName = fmt.Sprintf("pequod_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)

// archive returns an archive as goreleaser makes it, with a script as the program.
func archive(t *testing.T, script string) []byte {
	t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	files := tar.NewWriter(packed)
	for _, f := range []struct{ name, text string }{{"LICENSE", "license\n"}, {"pequod", script}} {
		if err := files.WriteHeader(&tar.Header{Name: f.name, Mode: 0o755, Size: int64(len(f.text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestInstall installs a release from a mirror, and installs nothing if anything is wrong.
func TestInstall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the archive is made for other systems")
	}
	data := archive(t, "#!/bin/sh\necho pequod v0.1.0\n")
	good := fmt.Sprintf("%064d  other.tar.gz\n%x  %s\n", 0, sha256.Sum256(data), archiveName)
	for name, test := range map[string]struct {
		version, checksums string
		// cosign is the exit code of a program cosign. A negative one means none.
		cosign int
		env    string
		want   string
	}{
		"checksum":           {version: "v0.1.0", checksums: good, cosign: -1},
		"signature":          {version: "v0.1.0", checksums: good, cosign: 0, env: "PEQUOD_VERIFY=signature"},
		"wrong signature":    {version: "v0.1.0", checksums: good, cosign: 1, want: "the signature of checksums.txt is wrong"},
		"no cosign":          {version: "v0.1.0", checksums: good, cosign: -1, env: "PEQUOD_VERIFY=signature", want: "cosign is not installed"},
		"wrong checksum":     {version: "v0.1.0", checksums: fmt.Sprintf("%064d  %s\n", 0, archiveName), cosign: -1, want: "the checksum of " + archiveName + " is wrong"},
		"no checksum":        {version: "v0.1.0", checksums: good[:64], cosign: -1, want: "checksums.txt has no checksum of " + archiveName},
		"two checksums":      {version: "v0.1.0", checksums: good + good, cosign: -1, want: "checksums.txt has no checksum of " + archiveName},
		"no release":         {version: "v0.9.9", checksums: good, cosign: -1, want: "v0.9.9/checksums.txt can't be downloaded"},
		"version of strange": {version: "../../evil", checksums: good, cosign: -1, want: "version ../../evil: want one such as v0.1.0"},
		"command in version": {version: "v0.1.0$(touch pwned)", checksums: good, cosign: -1, want: "want one such as v0.1.0"},
		"plain http": {version: "v0.1.0", checksums: good, cosign: -1, env: "PEQUOD_RELEASES=http://localhost:1/releases",
			want: "can't be downloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mux := http.NewServeMux()
			files := map[string][]byte{archiveName: data, "checksums.txt": []byte(test.checksums), "checksums.txt.sigstore.json": []byte("{}")}
			for file, content := range files {
				mux.HandleFunc("/v0.1.0/"+file, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(content) })
			}
			server := httptest.NewServer(mux)
			defer server.Close()
			dir := t.TempDir()
			bin, into := filepath.Join(dir, "bin"), filepath.Join(dir, "a place with blanks")
			if test.cosign >= 0 {
				writeFile(t, filepath.Join(bin, "cosign"), fmt.Sprintf("#!/bin/sh\necho \"$@\" > %s/cosign-args\nexit %d\n", dir, test.cosign), 0o755)
			}
			// A program that is there stays if the installation fails.
			writeFile(t, filepath.Join(into, "pequod"), "#!/bin/sh\necho old\n", 0o755)
			env := []string{"PATH=" + bin + ":/usr/bin:/bin", "TMPDIR=" + dir, "PEQUOD_RELEASES=" + server.URL, test.env}
			script, err := filepath.Abs("action/install.sh")
			if err != nil {
				t.Fatal(err)
			}
			out, code := run(t, dir, env, "bash", script, test.version, into)
			if test.want != "" {
				if code != 1 || !strings.Contains(out, test.want) {
					t.Errorf("exit code %d:\n%s\nwant %s", code, out, test.want)
				}
			} else if code != 0 {
				t.Fatalf("exit code %d:\n%s", code, out)
			}
			installed, _ := run(t, dir, env, filepath.Join(into, "pequod"))
			if want := map[bool]string{true: "pequod v0.1.0\n", false: "old\n"}[test.want == ""]; installed != want {
				t.Errorf("the installed program prints %q; want %q", installed, want)
			}
			if entries, err := os.ReadDir(into); err != nil || len(entries) != 1 {
				t.Errorf("left behind: %v %v", entries, err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "tmp.*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
				t.Error("the version was executed")
			}
			if test.cosign == 0 && !strings.Contains(readFile(t, filepath.Join(dir, "cosign-args")), "release.yaml@refs/tags/v0.1.0") {
				t.Error("cosign was not asked for the identity of the release workflow")
			}
		})
	}
}

// TestReleaseNames checks that the script and .goreleaser.yaml mean the same files, and
// that everything that installs a release by default installs that of the chart.
func TestReleaseNames(t *testing.T) {
	releaser := readFile(t, ".goreleaser.yaml")
	for _, line := range []string{
		`name_template: "pequod_{{ .Version }}_{{ .Os }}_{{ .Arch }}"`, "name_template: checksums.txt",
		`signature: "${artifact}.sigstore.json"`, "goos: [linux, darwin, windows]", "goarch: [amd64, arm64]", "formats: [zip]",
	} {
		if !strings.Contains(releaser, line) {
			t.Errorf(".goreleaser.yaml doesn't have %s", line)
		}
	}
	_, version, _ := strings.Cut(readFile(t, "config/chart/Chart.yaml"), "\nappVersion: ")
	version, _, _ = strings.Cut(version, "\n")
	for _, file := range append(actions(t), component) {
		if !strings.Contains(readFile(t, file), "default: "+version+"\n") {
			t.Errorf("%s doesn't install %s", file, version)
		}
		if !strings.Contains(releaser, `'grep -qx " *default: v{{ .Version }}" `+file+`'`) {
			t.Errorf("a release doesn't check the version in %s", file)
		}
	}
}
