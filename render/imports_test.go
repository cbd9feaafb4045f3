package render

import (
	"testing"
	"testing/fstest"
)

// vendoring is a module that imports one of its two vendored packages.
func vendoring() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"cue.mod/module.cue":                  file(`module: "example.com/shop@v0", language: version: "v0.9.0"`),
		"cue.mod/gen/lib.example.com/a/a.cue": file("package a\n#A: string"),
		"cue.mod/usr/lib.example.com/a/b.cue": file("package a\n#B: string"),
		"cue.mod/pkg/lib.example.com/b/b.cue": file("package b\n#A: string"),
		"shop.cue": file(`package shop
import "lib.example.com/a"
#Input: {x: a.#A, y: a.#B}
#Render: {input: {metadata: {name: string, namespace: string}, spec: #Input}, output: nodes: {}}`),
	}
}

// TestVendoredDigest checks that the digest of a module covers every file of the
// vendored packages that it imports, and no others.
func TestVendoredDigest(t *testing.T) {
	digest := func(files fstest.MapFS) string {
		t.Helper()
		m, err := Load(Source{FS: files, Dir: ".", Ref: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		return m.Digest
	}
	original := digest(vendoring())
	for name, covered := range map[string]bool{
		"shop.cue":                            true,
		"cue.mod/gen/lib.example.com/a/a.cue": true,
		"cue.mod/usr/lib.example.com/a/b.cue": true,
		"cue.mod/pkg/lib.example.com/b/b.cue": false,
	} {
		files := vendoring()
		files[name].Data = append(files[name].Data, "\n// Changed."...)
		if changed := digest(files) != original; changed != covered {
			t.Errorf("%s: digest changed: %v, want %v", name, changed, covered)
		}
	}
}

// TestFilesOfVendored checks that the search for endless recursion sees vendored
// packages.
func TestFilesOfVendored(t *testing.T) {
	files := Source{FS: vendoring(), Dir: "."}.Files()
	if len(files) != 3 {
		t.Errorf("%d files, want 3", len(files))
	}
}
