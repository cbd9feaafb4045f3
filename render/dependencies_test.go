package render

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cuelabs.dev/go/oci/ociregistry/ocimem"
	"cuelang.org/go/cue"
	cueerrors "cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"cuelang.org/go/mod/modconfig"
	"cuelang.org/go/mod/modregistry"
	"cuelang.org/go/mod/modregistrytest"
	"cuelang.org/go/mod/module"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pequod-io/pequod/internal/cuemod"
)

// TestImportsAsCUE loads modules that import others with CUE's own loader, which fetches
// them from a registry, and with Load. Both must find the same values, or both an error.
// The modules of the registry are in directories _registry/PATH_VERSION. If the comment
// of a case has a line that begins with "stricter:", only Load returns an error.
func TestImportsAsCUE(t *testing.T) {
	names, err := filepath.Glob("testdata/imports/*.txtar")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d cases, %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			comment, want, dir, registry := importsCase(t, name)
			ours, ourErr := valueOf(loadFrom(t.Context(), dir, registry))
			theirs, theirErr := valueByCUE(t, dir, registry)
			t.Logf("value %s, error %v; CUE: value %s, error %v", ours, ourErr, theirs, theirErr)
			switch stricter := strings.Contains(comment, "# stricter:"); {
			case strings.HasPrefix(want, "{"):
				if ours != want || theirs != want {
					t.Errorf("got %s (%v), CUE %s (%v), want %s", ours, ourErr, theirs, theirErr, want)
				}
			case ourErr == nil || (theirErr == nil) != stricter:
				t.Errorf("error %v, CUE's %v", ourErr, theirErr)
			case !slices.ContainsFunc(strings.Split(want, "|"), func(s string) bool { return strings.Contains(ourErr.Error(), s) }):
				t.Errorf("error %q, want %q", ourErr, want)
			}
		})
	}
}

// importsCase writes the main module of a case to a directory.
func importsCase(t *testing.T, name string) (comment, want, dir string, registry fstest.MapFS) {
	t.Helper()
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir, registry = t.TempDir(), fstest.MapFS{}
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = strings.TrimSpace(string(f.Data))
		} else if name, ok := strings.CutPrefix(f.Name, "_registry/"); ok {
			registry[name] = &fstest.MapFile{Data: f.Data}
		} else if err := writeFile(filepath.Join(dir, f.Name), f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return string(archive.Comment), want, dir, registry
}

// loadFrom loads the module in a directory with the modules of a registry.
func loadFrom(ctx context.Context, dir string, registry fs.FS) (*Module, error) {
	src := Source{FS: os.DirFS(dir), Dir: ".", Ref: "app"}
	list, err := cuemod.Read(src.FS, true)
	if errors.As(err, new(*cuemod.LocalError)) {
		return nil, err
	}
	opened, err := cuemod.Walk(ctx, src.FS, list, src.Dir, func(_ context.Context, l cuemod.Location) (cuemod.Files, error) {
		if l.Dir != "" {
			return cuemod.Files{FS: os.DirFS(filepath.Join(dir, l.Dir))}, nil
		}
		path, version, _ := strings.Cut(l.String(), "@")
		name := strings.ReplaceAll(path, "/", "_") + "_" + version
		if _, err := fs.Stat(registry, name); err != nil {
			return cuemod.Files{}, errors.New("not found")
		}
		sub, err := fs.Sub(registry, name)
		return cuemod.Files{FS: sub}, err
	})
	if err != nil {
		return nil, err
	}
	src.Modules = &cuemod.Resolved{List: list, Modules: opened}
	return Load(src)
}

// valueOf returns the field out of a module in JSON.
func valueOf(m *Module, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return outOf(m.Value())
}

// valueByCUE returns the field out of a module that CUE loads itself.
func valueByCUE(t *testing.T, dir string, files fs.FS) (string, error) {
	t.Helper()
	memory := ocimem.New()
	dirs, err := fs.ReadDir(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		path, version, _ := strings.Cut(strings.ReplaceAll(d.Name(), "_", "/"), "/v")
		m, err := module.NewVersion(path, "v"+version)
		if err != nil {
			t.Fatal(err)
		}
		if err := push(t.Context(), modregistry.NewClient(memory), m, files, d.Name()); err != nil {
			t.Logf("CUE does not publish %s: %v", m, err)
		}
	}
	server, err := modregistrytest.NewServer(memory, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	env := []string{"CUE_REGISTRY=" + server.Host() + "+insecure", "CUE_CACHE_DIR=" + t.TempDir()}
	registry, err := modconfig.NewRegistry(&modconfig.Config{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	insts := load.Instances([]string{"."}, &load.Config{Dir: dir, Env: env, Registry: registry})
	if len(insts) != 1 {
		return "", fmt.Errorf("%d instances", len(insts))
	}
	if err := insts[0].Err; err != nil {
		return "", errors.New(cueerrors.Details(err, nil))
	}
	return outOf(NewContext().BuildInstance(insts[0]))
}

// push publishes the module in a directory.
func push(ctx context.Context, registry *modregistry.Client, m module.Version, files fs.FS, dir string) error {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	err = fs.WalkDir(sub, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(sub, name)
		if err != nil {
			return err
		}
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(data)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return registry.PutModule(ctx, m, bytes.NewReader(b.Bytes()), int64(b.Len()))
}

func outOf(root cue.Value) (string, error) {
	data, err := root.LookupPath(cue.ParsePath("out")).MarshalJSON()
	return string(data), err
}

// TestDigestOfImports checks that the digest of a module covers every file of the other
// modules that it imports and the files that select their versions, and that it does not
// depend on where the module is.
func TestDigestOfImports(t *testing.T) {
	digest := func(name, change string) string {
		t.Helper()
		_, _, dir, registry := importsCase(t, "testdata/imports/"+name+".txtar")
		if file, ok := strings.CutPrefix(change, "_registry/"); ok {
			registry[file].Data = append(registry[file].Data, "// Changed.\n"...)
		} else if change != "" {
			data, err := os.ReadFile(filepath.Join(dir, change))
			if err != nil {
				t.Fatal(err)
			}
			if err := writeFile(filepath.Join(dir, change), append(data, "// Changed.\n"...)); err != nil {
				t.Fatal(err)
			}
		}
		m, err := loadFrom(t.Context(), dir, registry)
		if err != nil {
			t.Fatal(err)
		}
		return m.Digest
	}
	for name, changes := range map[string]map[string]bool{
		"foreign_default": {
			"":                                     false,
			"app.cue":                              true,
			"cue.mod/module.cue":                   true,
			"_registry/example.com_a_v0.1.0/x.cue": true,
			"_registry/example.com_a_v0.1.0/cue.mod/module.cue":   true,
			"_registry/example.com_lib_v1.0.0/x.cue":              true,
			"_registry/example.com_lib_v2.0.0/cue.mod/module.cue": true,
		},
		"replaced_by_directory": {
			"":                                       false,
			"cue.mod/local-module.cue":               true,
			"lib/x.cue":                              true,
			"_registry/example.com_lib_v1.0.0/x.cue": false,
		},
		"embed_text": {
			"a.txt":       true,
			"data/b.bin":  true,
			"data/c.txt":  false,
			"sub/mod.cue": false,
		},
		"excluded_files": {
			"_registry/example.com_lib_v1.0.0/a_test.cue": false,
			"_registry/example.com_lib_v1.0.0/tagged.cue": false,
		},
	} {
		original := digest(name, "")
		for file, covered := range changes {
			if changed := digest(name, file) != original; changed != covered {
				t.Errorf("%s: %s: digest changed: %v, want %v", name, file, changed, covered)
			}
		}
	}
}

// TestImportsAreHermetic checks that the restrictions of a module hold for the modules
// that it imports, and that their positions name the module.
func TestImportsAreHermetic(t *testing.T) {
	for file, want := range map[string]string{
		"package lib\nimport \"tool/exec\"\nx: exec.Run":      "example.com/lib@v1.0.0/x.cue:2:8: imports tool/exec: modules run no commands",
		"package lib\nimport \"tool/http\"\nx: http.Get":      "example.com/lib@v1.0.0/x.cue:2:8: imports tool/http: modules run no commands",
		"package lib\nimport \"tool/os\"\nx: os.Getenv":       "example.com/lib@v1.0.0/x.cue:2:8: imports tool/os: modules run no commands",
		"@extern(wasm)\npackage lib\nx: _ @wasm(file=x.wasm)": "example.com/lib@v1.0.0/x.cue:1:1: @extern(wasm) is not supported; @extern(embed) is",
		"package lib\nx: \"\xff\"":                            "example.com/lib@v1.0.0/x.cue:2:5: not UTF-8",
		"package lib\nx: 1 & 2":                               "example.com/lib@v1.0.0/x.cue:2:4: x: conflicting values 2 and 1",
	} {
		_, _, dir, registry := importsCase(t, "testdata/imports/standard.txtar")
		registry["example.com_lib_v1.0.0/x.cue"].Data = []byte(file)
		if _, err := loadFrom(t.Context(), dir, registry); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s\ngot %v, want %s", file, err, want)
		}
	}
}

// TestEmbeddedFilesAreFixed checks that all evaluations of a module use the embedded
// files that it was loaded with.
func TestEmbeddedFilesAreFixed(t *testing.T) {
	files := fstest.MapFS{
		"cue.mod/module.cue": {Data: []byte("module: \"example.com/app@v0\"\nlanguage: version: \"v0.17.0\"")},
		"app.cue":            {Data: []byte("@extern(embed)\npackage app\nout: _ @embed(glob=data/*.json)")},
		"data/a.json":        {Data: []byte(`{"n": 1}`)},
	}
	m, err := Load(Source{FS: files, Ref: "app"})
	if err != nil {
		t.Fatal(err)
	}
	files["data/a.json"].Data = []byte(`{"n": 2}`)
	if got, err := outOf(m.Value()); err != nil || got != `{"data/a.json":{"n":1}}` {
		t.Errorf("after a change: %s, %v", got, err)
	}
	files["data/b.json"] = &fstest.MapFile{Data: []byte(`{"n": 3}`)}
	if got, err := outOf(m.Value()); err == nil || !strings.Contains(m.Value().Err().Error(), "appeared while the module was in use") {
		t.Errorf("with a new file: %s, %v", got, m.Value().Err())
	}
}

// TestEmbeddedFilesAreLimited checks that a pattern can't embed any number of files.
func TestEmbeddedFilesAreLimited(t *testing.T) {
	for _, n := range []int{maxEmbedded, maxEmbedded + 1} {
		files := fstest.MapFS{
			"cue.mod/module.cue": {Data: []byte("module: \"example.com/app@v0\"\nlanguage: version: \"v0.17.0\"")},
			"app.cue":            {Data: []byte("@extern(embed)\npackage app\nout: _ @embed(glob=data/*.txt)")},
		}
		for i := range n {
			files[fmt.Sprintf("data/%d.txt", i)] = &fstest.MapFile{}
		}
		_, err := Load(Source{FS: files, Ref: "app"})
		if refused := err != nil && strings.Contains(err.Error(), "/app.cue:3:8: embeds more than 1000 files"); refused != (n > maxEmbedded) {
			t.Errorf("%d files: %v", n, err)
		}
	}
}

// TestImportDepth checks that a chain of imports has a limit.
func TestImportDepth(t *testing.T) {
	for _, n := range []int{maxImportDepth, maxImportDepth + 1} {
		files := fstest.MapFS{"cue.mod/module.cue": {Data: []byte(`module: "example.com/app@v0", language: version: "v0.9.0"`)}}
		for i := range n {
			files[fmt.Sprintf("p%d/p.cue", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "package p%d\nimport \"example.com/app/p%d\"\nx: p%d.x", i, i+1, i+1)}
		}
		files[fmt.Sprintf("p%d/p.cue", n)] = &fstest.MapFile{Data: fmt.Appendf(nil, "package p%d\nx: 1", n)}
		_, err := Load(Source{FS: files, Dir: "p0", Ref: "app"})
		if deep := err != nil && strings.Contains(err.Error(), "more than 500 packages import each other"); deep != (n > maxImportDepth) {
			t.Errorf("%d packages: %v", n, err)
		}
	}
}

func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}
