package cuemod_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/pequod-io/pequod/internal/cuemod"
)

// app returns a module that lists modules example.com/m0@v1.0.0 and so on, with a
// package.
func app(modules int, text string) fstest.MapFS {
	var file strings.Builder
	file.WriteString("module: \"example.com/app@v0\"\nlanguage: version: \"v0.13.0\"\n")
	for i := range modules {
		fmt.Fprintf(&file, "deps: \"example.com/m%d@v1\": v: \"v1.0.0\"\n", i)
	}
	return fstest.MapFS{cuemod.ModuleFile: {Data: []byte(file.String())}, "app.cue": {Data: []byte(text)}}
}

// TestListIsLimited checks that a module can't make its users fetch any number of
// modules.
func TestListIsLimited(t *testing.T) {
	for modules, works := range map[int]bool{1000: true, 1001: false} {
		if _, err := cuemod.Read(app(modules, ""), false); (err == nil) != works {
			t.Errorf("%d modules: %v", modules, err)
		}
	}
}

// TestWalk opens a chain of modules. It opens each one once, and only those whose
// packages are imported.
func TestWalk(t *testing.T) {
	const modules, imported = 30, 20
	files := app(modules, "package app\nimport \"example.com/m0\"\nx: m0.x")
	list, err := cuemod.Read(files, false)
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int32
	open := func(_ context.Context, l cuemod.Location) (cuemod.Files, error) {
		calls.Add(1)
		var n int
		if _, err := fmt.Sscanf(l.String(), "example.com/m%d@v1.0.0", &n); err != nil {
			return cuemod.Files{}, err
		}
		// The packages import each other in a circle.
		text := fmt.Sprintf("package m%d\nimport \"example.com/m%d\"\nx: 1", n, (n+1)%imported)
		return cuemod.Files{FS: fstest.MapFS{
			cuemod.ModuleFile: {Data: fmt.Appendf(nil, "module: \"example.com/m%d@v1\"\nlanguage: version: \"v0.13.0\"", n)},
			"x.cue":           {Data: []byte(text)},
		}}, nil
	}
	opened, err := cuemod.Walk(t.Context(), files, list, ".", open)
	if err != nil || len(opened) != imported || calls.Load() != imported {
		t.Errorf("%d modules in %d calls, %v; want %d", len(opened), calls.Load(), err, imported)
	}

	broken := errors.New("broken")
	_, err = cuemod.Walk(t.Context(), files, list, ".", func(context.Context, cuemod.Location) (cuemod.Files, error) {
		return cuemod.Files{}, broken
	})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "module example.com/m0@v1.0.0: ") {
		t.Errorf("error of open: %v", err)
	}
}
