package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// typedPackage is a package of this module, as `go list -export` describes it.
type typedPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Export     string // file with the compiler's export data

	dir string // relative to the module
	// exports has the export data of every package, so that imports can be
	// resolved without their source.
	exports map[string]string
}

// loadPackages returns the packages of this module. It compiles those that are
// not in the build cache, and runs only once.
var loadPackages = sync.OnceValues(func() ([]*typedPackage, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", cmd, err, &stderr)
	}
	exports := map[string]string{}
	var own []*typedPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &typedPackage{exports: exports}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return own, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", cmd, err)
		}
		exports[p.ImportPath] = p.Export
		if dir, ok := ownPath(p.ImportPath); ok {
			p.dir = dir
			own = append(own, p)
		}
	}
})

func packages(t *testing.T) []*typedPackage {
	t.Helper()
	all, err := loadPackages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// check type-checks the files of the package that are not tests.
func (p *typedPackage) check(t *testing.T) (*token.FileSet, *types.Package, *types.Info) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if p.exports[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(p.exports[path])
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	pkg, err := config.Check(p.ImportPath, fset, files, info)
	if err != nil {
		t.Fatalf("%s: %v", p.ImportPath, err)
	}
	return fset, pkg, info
}
