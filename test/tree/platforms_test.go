package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPlatforms checks the types of the command line and of all its dependencies as they are
// for the other systems that .goreleaser.yaml names. Only packages of ours have their
// functions checked. A build for another system would compile everything, in minutes.
func TestPlatforms(t *testing.T) {
	for _, platform := range [][2]string{{"darwin", "arm64"}, {"windows", "amd64"}} {
		t.Run(platform[0], func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap", module+"/cmd/pequod")
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform[0], "GOARCH="+platform[1])
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			sizes := types.SizesFor("gc", platform[1])
			checked := map[string]*types.Package{"unsafe": types.Unsafe}
			own := 0
			for d := json.NewDecoder(bytes.NewReader(out)); ; {
				var p sourcePackage
				if err := d.Decode(&p); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if _, ok := ownPath(p.ImportPath); ok {
					own++
				}
				if p.ImportPath == "unsafe" {
					continue
				}
				if checked[p.ImportPath], err = p.check(checked, sizes); err != nil {
					t.Fatalf("%s: %v", p.ImportPath, err)
				}
			}
			if own < 50 {
				t.Errorf("%d packages of ours were checked", own)
			}
		})
	}
}

// sourcePackage is a package as `go list` describes it, after all that it imports.
type sourcePackage struct {
	ImportPath, Dir string
	GoFiles         []string
	// ImportMap has the paths of vendored packages.
	ImportMap map[string]string
}

// check checks the types of a package, given those that it imports.
func (p sourcePackage) check(checked map[string]*types.Package, sizes types.Sizes) (*types.Package, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	_, own := ownPath(p.ImportPath)
	config := types.Config{IgnoreFuncBodies: !own, Sizes: sizes, Importer: importedFrom(func(path string) (*types.Package, error) {
		if to, ok := p.ImportMap[path]; ok {
			path = to
		}
		if checked[path] == nil {
			return nil, fmt.Errorf("%s is not checked yet", path)
		}
		return checked[path], nil
	})}
	return config.Check(p.ImportPath, fset, files, nil)
}

// importedFrom is a function that returns imported packages.
type importedFrom func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (f importedFrom) Import(path string) (*types.Package, error) { return f(path) }
