package modules_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// TestOpenErrors covers the references and options that Open refuses.
func TestOpenErrors(t *testing.T) {
	embedded := v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice"}
	for _, test := range []struct {
		ref   v1alpha1.CueRef
		place modules.Place
		want  string
	}{
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "oci://x"}, modules.Place{}, `oci://x: "x" is not the host of a registry; want oci://HOST/REPOSITORY:TAG`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefOCI, Ref: "oci-layout:none"}, modules.Place{BaseDir: "dir"}, `oci-layout:dir/none: no such file or directory; check the path`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefGit, Ref: "git::x"}, modules.Place{}, `git::x: want git::https://HOST/REPOSITORY[//DIR][?ref=REVISION], or ssh or file instead of https`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefConfigMap, Ref: "shop/x"}, modules.Place{}, `configmap:shop/x: not among the manifests beside the Transform, and this command reads no cluster`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefConfigMap, Ref: "a/b/c"}, modules.Place{}, `"a/b/c" is not the name of a ConfigMap: want NAME or NAMESPACE/NAME`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefInline}, modules.Place{}, `inline: has no .cue file`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: "package x", Path: "y"}, modules.Place{}, `inline: no directory "y" in the module`},
		{v1alpha1.CueRef{Type: "ftp"}, modules.Place{}, `unknown module source "ftp"; known: embedded, oci, git, configmap, inline, path`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "shop"}, modules.Place{}, `no embedded module "shop"; there are: application, backup, database, databasecluster, targetapp, webservice`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: "none"}, modules.Place{BaseDir: "platform"}, `platform/none: no such file or directory`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: "modules.go"}, modules.Place{}, `modules.go: not a directory`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice", Verify: &v1alpha1.Verify{}}, modules.Place{}, `verification of modules is not supported`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice", PullSecretRef: new(string)}, modules.Place{}, `pull secrets of modules are not supported`},
		{v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "webservice", Path: "x"}, modules.Place{}, `embedded module "webservice" has no path`},
	} {
		_, err := modules.Open(t.Context(), test.ref, test.place, modules.Options{})
		if err == nil || err.Error() != test.want {
			t.Errorf("%v, %+v: %v, want %s", test.ref, test.place, err, test.want)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := modules.Open(cancelled, embedded, modules.Place{}, modules.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestMinimumPequod checks that a module which needs a newer version of Pequod is refused
// from every source, and that development builds can use all.
func TestMinimumPequod(t *testing.T) {
	const file = "module: \"example.com/x@v0\"\nlanguage: version: \"v0.17.0\"\ncustom: \"pequod.io@v0\": minimumPequod: \"v0.12.0\"\n"
	dir := t.TempDir()
	for name, data := range map[string]string{"cue.mod/module.cue": file, "x.cue": "package x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, ref := range []v1alpha1.CueRef{
		{Type: v1alpha1.CueRefPath, Ref: dir},
		{Type: v1alpha1.CueRefInline, Files: []v1alpha1.CueFile{{Name: "x.cue", Content: "package x"}, {Name: "cue.mod/module.cue", Content: file}}},
	} {
		for version, refused := range map[string]bool{"v0.11.9": true, "v0.12.0-rc.1": true, "v0.12.0": false, "v1.0.0": false, "dev": false} {
			_, err := modules.Open(t.Context(), ref, modules.Place{}, modules.Options{Version: version})
			if (err != nil) != refused || refused && !strings.HasSuffix(err.Error(), " needs Pequod v0.12.0 or newer; this is "+version) {
				t.Errorf("%s with %s: %v", ref.Type, version, err)
			}
		}
	}
}

// TestOpener checks that the same reference is opened once, that different base
// directories are different modules, and that errors are not remembered.
func TestOpener(t *testing.T) {
	var opener modules.Opener
	open := func(ref, base string) (*modules.Files, error) {
		return opener.Open(t.Context(), v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: ref}, modules.Place{BaseDir: base})
	}
	dir := t.TempDir()
	if _, err := open("shop", dir); err == nil {
		t.Fatal("opened a directory that does not exist")
	}
	for _, d := range []string{filepath.Join(dir, "shop"), filepath.Join(dir, "other", "shop")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	first, err := open("shop", dir)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := open("shop", dir); err != nil || again != first {
		t.Errorf("second Open: %p, %v, want %p", again, err, first)
	}
	if other, err := open("shop", filepath.Join(dir, "other")); err != nil || other == first {
		t.Errorf("Open below other: %p, %v", other, err)
	}
	// An open module doesn't hide what a second reference to it demands.
	ref := v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: "shop", Digest: "sha256:0"}
	if pinned, err := opener.Open(t.Context(), ref, modules.Place{BaseDir: dir}); err != nil || pinned.Digest != ref.Digest {
		t.Errorf("Open with a digest: %+v, %v", pinned, err)
	}
	ref.Digest, ref.Verify = "", &v1alpha1.Verify{}
	if _, err := opener.Open(t.Context(), ref, modules.Place{BaseDir: dir}); err == nil {
		t.Error("Open ignored verify")
	}
}

// TestEscapingLink checks that a link out of the module is an error that names
// the link, and that a link inside the module is followed.
func TestEscapingLink(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.cue")
	shop := filepath.Join(dir, "shop")
	if err := os.MkdirAll(shop, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, data := range map[string]string{secret: "package secret", filepath.Join(shop, "a.cue"): "package shop"} {
		if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"out.cue": "../secret.cue", "in.cue": "a.cue"} {
		if err := os.Symlink(target, filepath.Join(shop, name)); err != nil {
			t.Skip(err)
		}
	}
	files, err := modules.Open(t.Context(), v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: shop}, modules.Place{}, modules.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := fs.ReadFile(files.FS, "in.cue"); err != nil || string(data) != "package shop" {
		t.Errorf("in.cue: %q, %v", data, err)
	}
	if _, err := fs.ReadFile(files.FS, "out.cue"); err == nil || !strings.Contains(err.Error(), "link out.cue to ../secret.cue leaves the module") {
		t.Errorf("out.cue: %v", err)
	}
}

// TestVendoredFilesAreLimited checks that a vendored file has the limits of the
// other files of a module: it must be a regular file of at most 8 MiB.
func TestVendoredFilesAreLimited(t *testing.T) {
	dir := t.TempDir()
	vendored := filepath.Join(dir, "cue.mod", "gen", "lib.example.com", "a")
	if err := os.MkdirAll(vendored, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(dir, "cue.mod", "module.cue"): `module: "example.com/shop@v0", language: version: "v0.9.0"`,
		filepath.Join(dir, "shop.cue"):              "package shop\nimport \"lib.example.com/a\"\n#Input: x: a.#A",
		filepath.Join(vendored, "a.cue"):            "package a\n#A: string\n" + strings.Repeat("// Long.\n", 1<<20),
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := modules.Open(t.Context(), v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: dir}, modules.Place{}, modules.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = render.Load(render.Source{FS: files.FS, Dir: files.Dir, Show: files.Show, Ref: files.Ref})
	if err == nil || !strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("Load: %v", err)
	}
}
