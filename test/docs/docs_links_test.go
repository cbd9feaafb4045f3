package docs

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// link doesn't match regular expressions, such as [a-z]([-a-z]*[a-z])?.
	link = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s\[*]+)\)`)
	// identifier matches code such as `render.Load` or `graph.Graph.Waves`.
	identifier = regexp.MustCompile("^`([a-z0-9]+)\\.([A-Za-z]\\w*(?:\\.[A-Za-z]\\w*)?)`$")
)

// TestDocLinks checks that the targets of all links exist, and that a linked
// `package.Name` is declared in the linked file.
func TestDocLinks(t *testing.T) {
	checked := 0
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			shown, target := m[1], m[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "#") {
				continue
			}
			target, _, _ = strings.Cut(target, "#")
			target = filepath.Join(filepath.Dir(file), filepath.FromSlash(target))
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: [%s]: %v", file, shown, err)
				continue
			}
			id := identifier.FindStringSubmatch(shown)
			if id == nil || !strings.HasSuffix(target, ".go") || strings.Trim(shown, "`") == filepath.Base(target) {
				continue
			}
			checked++
			if err := declares(target, id[1], id[2]); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if checked == 0 {
		t.Error("no link names an identifier")
	}
}

// documents returns the Markdown files for users and contributors.
func documents(t *testing.T) []string {
	files := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	for _, dir := range []string{"docs", "examples"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// declares returns an error unless a Go file of the package declares a name: a
// function, type, constant or variable, or Type.Method.
func declares(file, pkg, name string) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if f.Name.Name != pkg {
		return fmt.Errorf("%s.%s: %s is of package %s", pkg, name, file, f.Name.Name)
	}
	for _, decl := range f.Decls {
		for _, declared := range names(decl) {
			if declared == name {
				return nil
			}
		}
	}
	return fmt.Errorf("%s.%s isn't declared in %s", pkg, name, file)
}

func names(decl ast.Decl) []string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		receiver := d.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if id, ok := receiver.(*ast.Ident); ok {
			return []string{id.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		var all []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				all = append(all, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					all = append(all, id.Name)
				}
			}
		}
		return all
	}
	return nil
}

func TestDeclares(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.go")
	var src bytes.Buffer
	src.WriteString("package x\n\ntype T struct{}\n\nfunc (t *T) M() {}\nfunc F() {}\nconst C = 1\nvar a, b int\n")
	if err := os.WriteFile(file, src.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"T", "T.M", "F", "C", "b"} {
		if err := declares(file, "x", name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"M", "T.N", "G"} {
		if declares(file, "x", name) == nil {
			t.Errorf("%s is declared", name)
		}
	}
	if declares(file, "y", "T") == nil {
		t.Error("package y has T")
	}
}
