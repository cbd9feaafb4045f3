package artifact_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"cuelabs.dev/go/oci/ociregistry/ociclient"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/module"
	"cuelang.org/go/mod/modzip"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/pequod-io/pequod/modules/artifact"
	"github.com/pequod-io/pequod/modules/oci"
)

// shop is a module with everything that a module may have, vendored types included.
var shop = map[string]string{
	"cue.mod/module.cue": `module: "example.com/shop/web@v1"
language: version: "v0.17.0"
source: kind: "self"
custom: "pequod.io@v0": {
	description: "A web shop."
	kinds: [{group: "shop.example.com", kind: "Shop", versions: ["v1"]}]
	images: ["docker.io/library/nginx:1.31"]
	minimumPequod: "v0.12.0"
	futureField: true
}
`,
	"web.cue":                           "package web\n#Input: size: int\n",
	"README.md":                         "# Shop\n",
	"sub/dir/sub.cue":                   "package dir\n",
	"cue.mod/gen/lib.example.com/l.cue": "package l\n",
}

// write writes files to a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	add(t, dir, files)
	return dir
}

// add writes files below dir.
func add(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// texts returns the files of a file system.
func texts(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(files, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, p)
		all[p] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// server starts a registry and returns its host.
func server(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// ours returns our client without credentials.
func ours(t *testing.T) *oci.Client {
	t.Helper()
	c, err := oci.New(oci.Options{Keychain: authn.NewMultiKeychain()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// theirs returns CUE's client of a registry.
func theirs(t *testing.T, host string) *modregistry.Client {
	t.Helper()
	reg, err := ociclient.New(host, &ociclient.Options{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	return modregistry.NewClient(reg)
}

// pushTheirs publishes a directory with CUE's packages.
func pushTheirs(t *testing.T, host, dir string, meta *modregistry.Metadata) *modregistry.Module {
	t.Helper()
	mv := module.MustNewVersion("example.com/shop/web@v1", "v1.4.0")
	var buf bytes.Buffer
	if err := modzip.CreateFromDir(&buf, mv, dir); err != nil {
		t.Fatal(err)
	}
	c := theirs(t, host)
	if err := c.PutModuleWithMetadata(t.Context(), mv, bytes.NewReader(buf.Bytes()), int64(buf.Len()), meta); err != nil {
		t.Fatal(err)
	}
	return get(t, host)
}

// get reads the module's description with CUE's packages.
func get(t *testing.T, host string) *modregistry.Module {
	t.Helper()
	m, err := theirs(t, host).GetModule(t.Context(), module.MustNewVersion("example.com/shop/web@v1", "v1.4.0"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// pushOurs publishes a directory with our packages and returns the reference.
func pushOurs(t *testing.T, host, dir string) oci.Ref {
	t.Helper()
	img, _, err := artifact.Pack(t.Context(), dir, "v1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	ref := reference(t, host)
	if err := ours(t).Write(t.Context(), ref, img); err != nil {
		t.Fatal(err)
	}
	return ref
}

// reference returns the reference under which CUE looks for the module.
func reference(t *testing.T, host string) oci.Ref {
	t.Helper()
	ref, err := oci.ParseRef("oci://" + host + "/example.com/shop/web:v1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// TestFormat publishes a module with our packages and with CUE's, and reads it with
// both. All four see the same files and the same digest.
func TestFormat(t *testing.T) {
	for name, push := range map[string]func(host, dir string){
		"ours":   func(host, dir string) { pushOurs(t, host, dir) },
		"theirs": func(host, dir string) { pushTheirs(t, host, dir, nil) },
	} {
		host, dir := server(t), write(t, shop)
		push(host, dir)
		m := get(t, host)
		r, err := m.GetZip(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, r.Close()); err != nil {
			t.Fatal(err)
		}
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shop, texts(t, z)); diff != "" {
			t.Errorf("pushed by %s, read by theirs: %s", name, diff)
		}
		for _, f := range z.File {
			if f.ModifiedDate != 0 || f.ModifiedTime != 0 || !f.Modified.IsZero() && f.Modified.Year() > 1980 {
				t.Errorf("%s has time %v", f.Name, f.Modified)
			}
		}
		img, err := ours(t).Image(t.Context(), reference(t, host))
		if err != nil {
			t.Fatal(err)
		}
		info, files, err := artifact.Open(img)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(shop, texts(t, files)); diff != "" {
			t.Errorf("pushed by %s, read by ours: %s", name, diff)
		}
		if info.Digest != string(m.ManifestDigest()) || info.Path != "example.com/shop/web@v1" || info.Name() != "web" {
			t.Errorf("pushed by %s: %+v, their digest %s", name, info, m.ManifestDigest())
		}
		want := &artifact.Metadata{
			Description: "A web shop.", Images: []string{"docker.io/library/nginx:1.31"}, MinimumPequod: "v0.12.0",
			Kinds: []artifact.Kind{{Group: "shop.example.com", Kind: "Shop", Versions: []string{"v1"}}},
		}
		if diff := cmp.Diff(want, info.Metadata); diff != "" {
			t.Error(diff)
		}
		if err := fstest.TestFS(files, "web.cue", "sub/dir/sub.cue", "cue.mod/module.cue"); err != nil {
			t.Error(err)
		}
	}
}

// digest packs a directory and returns the digest of the artifact.
func digest(t *testing.T, dir string) string {
	t.Helper()
	img, info, err := artifact.Pack(t.Context(), dir, "v1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	if h, err := img.Digest(); err != nil || h.String() != info.Digest {
		t.Fatalf("%v, %v, want %s", h, err, info.Digest)
	}
	return info.Digest
}

// TestDigest checks that the digest of an artifact is that of CUE, and depends neither
// on times and permissions nor on what isn't part of the module.
func TestDigest(t *testing.T) {
	dir := write(t, shop)
	want := string(pushTheirs(t, server(t), dir, nil).ManifestDigest())
	other := write(t, shop)
	add(t, other, map[string]string{
		".git/config": "x", "nested/cue.mod/module.cue": "x", "nested/a.cue": "x", "cue.mod/local-module.cue": "",
	})
	if err := os.Symlink("/etc/passwd", filepath.Join(other, "link.cue")); err != nil {
		t.Skip(err)
	}
	old := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := errors.Join(os.Chtimes(filepath.Join(other, "web.cue"), old, old), os.Chmod(filepath.Join(other, "web.cue"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, other} {
		if got := digest(t, d); got != want {
			t.Errorf("digest %s, CUE has %s", got, want)
		}
	}
}

// repository makes a git repository of files, with a module in its directory web.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	t.Setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05+0100")
	t.Setenv("GIT_COMMITTER_DATE", "2026-01-02T03:04:05+0100")
	dir := write(t, files)
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// TestGit checks that a module with source git has the committed files, the license of
// the repository, and CUE's annotations, and that uncommitted files are refused.
func TestGit(t *testing.T) {
	dir := repository(t, map[string]string{
		"LICENSE": "free", ".gitignore": "secret", "web/web.cue": "package web\n",
		"web/cue.mod/module.cue": `module: "example.com/shop/web@v1", language: version: "v0.17.0", source: kind: "git"`,
	})
	web := filepath.Join(dir, "web")
	add(t, web, map[string]string{"secret": "ignored by git"})
	img, info, err := artifact.Pack(t.Context(), web, "v1.4.0")
	if err != nil {
		t.Fatal(err)
	}
	_, files, err := artifact.Open(img)
	if err != nil {
		t.Fatal(err)
	}
	got := texts(t, files)
	if len(got) != 3 || got["LICENSE"] != "free" || got["web.cue"] == "" {
		t.Errorf("files %v", got)
	}
	if len(info.Commit) != 40 || info.CommitTime != "2026-01-02T02:04:05Z" {
		t.Errorf("commit %q of %s", info.Commit, info.CommitTime)
	}
	// CUE writes the same bytes if its time zone is UTC.
	copied := write(t, got)
	m := pushTheirs(t, server(t), copied, &modregistry.Metadata{
		VCSType: "git", VCSCommit: info.Commit, VCSCommitTime: time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC),
	})
	if string(m.ManifestDigest()) != info.Digest {
		t.Errorf("digest %s, CUE has %s", info.Digest, m.ManifestDigest())
	}
	add(t, web, map[string]string{"new.cue": "package web\n"})
	_, _, err = artifact.Pack(t.Context(), web, "v1.4.0")
	if want := web + `: uncommitted changes, such as "?? web/new.cue"; commit them, or publish the directory as it is with source: kind: "self"`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestPackErrors covers directories and versions that can't be packed.
func TestPackErrors(t *testing.T) {
	file := func(text string) map[string]string { return map[string]string{"cue.mod/module.cue": text} }
	valid := `module: "example.com/shop@v1", language: version: "v0.17.0", source: kind: "self"`
	for _, test := range []struct {
		files         map[string]string
		version, want string
	}{
		{file(valid), "1.4.0", `"1.4.0" is not a version: want one like v1.4.0`},
		{file(valid), "v1.4", `"v1.4" is not a version: want one like v1.4.0`},
		{file(valid), "v2.0.0", `version v2.0.0 does not fit module example.com/shop@v1, which has versions v1.x.y`},
		{map[string]string{"a.cue": ""}, "v1.0.0", `DIR: not the root of a module: no file cue.mod/module.cue`},
		{file(`module: "example.com/shop@v1", language: version: "v0.17.0"`), "v1.0.0", `DIR/cue.mod/module.cue: add source: kind: "self" to publish the files of the directory, or "git" to publish the committed files`},
		{map[string]string{"cue.mod/module.cue": valid, "a:b": ""}, "v1.0.0", `DIR: a:b: malformed file path "a:b": invalid char ':'`},
		{map[string]string{"cue.mod/module.cue": valid, "big.cue": strings.Repeat("//\n", 3<<20)}, "v1.0.0", `file big.cue is larger than 8 MiB`},
	} {
		dir := write(t, test.files)
		_, _, err := artifact.Pack(t.Context(), dir, test.version)
		if want := strings.ReplaceAll(test.want, "DIR", dir); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	dir := repository(t, file(`module: "example.com/shop@v1", language: version: "v0.17.0", source: kind: "git"`))
	if _, _, err := artifact.Pack(cancelled, dir, "v1.0.0"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
