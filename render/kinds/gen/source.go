package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// sources reads the source files of the Kubernetes API: their comments mark
// optional fields and enumerations, and their constants are the values of the
// latter. Packages are parsed when a type of them is first asked for.
type sources struct {
	dirs     map[string]string  // directories by import path
	packages map[string]*source // parsed packages by import path
}

// source holds the declarations of one package that the table needs.
type source struct {
	fields map[string]map[string]string // comments by type and field
	closed map[string]bool              // types marked +enum, which have no other values
	values map[string][]string          // constants by type
}

// newSources asks the go command for the directories of the packages, so that
// they are those of the versions in go.mod.
func newSources() (*sources, error) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}\t{{.Dir}}",
		"k8s.io/client-go/kubernetes/scheme", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	s := &sources{dirs: map[string]string{}, packages: map[string]*source{}}
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), "\t")
		s.dirs[path] = dir
	}
	return s, nil
}

// of returns the package of a type and parses it on first use. Only files with
// "types" in their names are parsed: the Kubernetes API declares its types there.
// of panics if one of them is not Go, as the compiler would have failed before.
func (s *sources) of(t reflect.Type) *source {
	path := t.PkgPath()
	if p := s.packages[path]; p != nil {
		return p
	}
	p := &source{fields: map[string]map[string]string{}, closed: map[string]bool{}, values: map[string][]string{}}
	s.packages[path] = p
	files, err := filepath.Glob(filepath.Join(s.dirs[path], "*types*.go"))
	if err != nil || s.dirs[path] == "" {
		return p // a package of the standard library has no markers
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				p.declared(g)
			}
		}
	}
	return p
}

// declared records the types or constants of a declaration. The comment of a type
// is its own, or that of the declaration if it has none.
func (p *source) declared(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch x := spec.(type) {
		case *ast.TypeSpec:
			if s, ok := x.Type.(*ast.StructType); ok {
				p.fields[x.Name.Name] = comments(s)
			}
			doc := g.Doc.Text()
			if x.Doc != nil {
				doc = x.Doc.Text()
			}
			p.closed[x.Name.Name] = hasMarker(doc, "+enum")
		case *ast.ValueSpec:
			p.constant(x)
		}
	}
}

// comments returns the comments of the fields of a struct by name. Embedded
// fields have no names and are left out: their own structs have the comments.
func comments(s *ast.StructType) map[string]string {
	all := map[string]string{}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			all[name.Name] = f.Doc.Text()
		}
	}
	return all
}

// constant records a constant with a type and a string value. Constants that are
// computed or refer to others are left out.
func (p *source) constant(v *ast.ValueSpec) {
	typ, ok := v.Type.(*ast.Ident)
	if !ok || len(v.Values) != 1 {
		return
	}
	if l, ok := v.Values[0].(*ast.BasicLit); ok && l.Kind == token.STRING {
		if s, err := strconv.Unquote(l.Value); err == nil {
			p.values[typ.Name] = append(p.values[typ.Name], s)
		}
	}
}

// hasMarker reports whether a comment has a marker such as +optional, with or
// without a value, on a line of its own: both +default and +default=1 are the
// marker +default.
func hasMarker(doc, marker string) bool {
	return slices.ContainsFunc(strings.Split(doc, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == marker || strings.HasPrefix(line, marker+"=")
	})
}
