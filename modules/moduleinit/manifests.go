package moduleinit

import (
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/token"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// Manifests are objects that a module is made from: see [Manifests.Read]. The zero
// value is empty.
type Manifests struct {
	objects []object
	first   map[identity]problem.Position
	ids     map[string]bool
}

// object is one object of the manifests.
type object struct {
	identity
	// id is the id of the node that the module has for the object.
	id string
	// syntax is the object without the fields that the API server writes. It is
	// nil if the object is only read, because it is a Secret with values.
	syntax *ast.StructLit
}

// identity identifies an object in a cluster. The version is not part of the
// identity, but is needed to read the object.
type identity struct{ apiVersion, kind, namespace, name string }

// key returns the identity with the API group instead of apiVersion.
func (i identity) key() identity {
	i.apiVersion = schema.FromAPIVersionAndKind(i.apiVersion, i.kind).Group
	return i
}

// String returns KIND [NAMESPACE/]NAME.
func (i identity) String() string {
	if i.namespace == "" {
		return i.kind + " " + i.name
	}
	return i.kind + " " + i.namespace + "/" + i.name
}

// Len returns the number of objects.
func (m *Manifests) Len() int { return len(m.objects) }

// Read adds the objects of a YAML file, and the items of its Lists. It returns every
// problem of the file: values that are no objects, names that are missing, and
// objects that were read before. A note tells of each Secret whose values are not
// copied.
func (m *Manifests) Read(name string, data []byte) problem.List {
	var all problem.List
	for doc, ps := range yamlfile.Objects(name, data) {
		if ps.Failed() {
			return append(all, ps...)
		}
		all = append(all, m.add(doc)...)
	}
	return all
}

// add adds the object of one document.
func (m *Manifests) add(doc yamlfile.Document) problem.List {
	// A module would take these keys for references.
	expr, ps := doc.Syntax("$from", "$generate")
	if ps.Failed() {
		for i := range ps {
			if ps[i].Rule == problem.RuleReserved {
				ps[i].Message = "cannot be copied: in a module, the key is a reference"
			}
		}
		return ps
	}
	s, ok := expr.(*ast.StructLit)
	if !ok {
		return problem.List{{Position: doc.Start(), Rule: problem.RuleType, Message: "not a Kubernetes object"}}
	}
	text := func(path ...string) string {
		at := cuesyntax.ValueAt(s, path)
		v, _ := cuesyntax.Text(at)
		p := problem.Problem{Position: doc.PosOf(path), Path: strings.Join(path, "."), Rule: problem.RuleRequired, Message: "missing"}
		switch {
		case v != "" || at == nil && p.Path == "metadata.namespace":
			return v
		case at != nil:
			p.Rule, p.Message = problem.RuleType, "must be a string that is not empty"
		}
		ps = append(ps, p)
		return ""
	}
	o := object{identity: identity{text("apiVersion"), text("kind"), text("metadata", "namespace"), text("metadata", "name")}}
	if ps.Failed() {
		return ps
	}
	if first, ok := m.first[o.key()]; ok {
		return problem.List{{Position: doc.Start(), Rule: problem.RuleDuplicate, Message: "a second " + o.identity.String(), Related: first}}
	}
	if m.first == nil {
		m.first, m.ids = map[identity]problem.Position{}, map[string]bool{}
	}
	m.first[o.key()] = doc.Start()
	o.id = m.newID(o.identity)
	if hasSecretValues(s, o.identity) {
		ps = append(ps, problem.Problem{Severity: problem.Note, Position: doc.Start(), Rule: problem.RuleSecret,
			Message: o.identity.String() + ": the values of Secrets are not copied; the module waits for a Secret of this name"})
	} else {
		clean(s)
		o.syntax = s
	}
	m.objects = append(m.objects, o)
	return ps
}

// hasSecretValues reports whether an object is a Secret with data.
func hasSecretValues(s *ast.StructLit, i identity) bool {
	if i.kind != "Secret" || i.apiVersion != "v1" {
		return false
	}
	return slices.ContainsFunc([]string{"data", "stringData"}, func(name string) bool {
		f := cuesyntax.Field(s, name)
		if f == nil {
			return false
		}
		data, ok := f.Value.(*ast.StructLit)
		return !ok && !isNull(f.Value) || ok && len(data.Elts) > 0
	})
}

// clean removes what the API server and kubectl write, and null fields, which the
// API server drops.
func clean(s *ast.StructLit) {
	dropNulls(s)
	drop(s, "status")
	// Readers look for these fields first; the others are sorted by name.
	first := []string{"metadata", "kind", "apiVersion"}
	slices.SortStableFunc(s.Elts, func(a, b ast.Decl) int {
		return slices.Index(first, cuesyntax.FieldName(b)) - slices.Index(first, cuesyntax.FieldName(a))
	})
	metadata, ok := cuesyntax.ValueAt(s, []string{"metadata"}).(*ast.StructLit)
	if !ok {
		return
	}
	drop(metadata, "creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
	if annotations, ok := cuesyntax.ValueAt(metadata, []string{"annotations"}).(*ast.StructLit); ok {
		drop(annotations, "kubectl.kubernetes.io/last-applied-configuration")
		if len(annotations.Elts) == 0 {
			drop(metadata, "annotations")
		}
	}
}

// drop removes fields of a struct.
func drop(s *ast.StructLit, names ...string) {
	s.Elts = slices.DeleteFunc(s.Elts, func(d ast.Decl) bool { return slices.Contains(names, cuesyntax.FieldName(d)) })
}

// dropNulls removes the null fields of all structs.
func dropNulls(e ast.Expr) {
	switch x := e.(type) {
	case *ast.StructLit:
		x.Elts = slices.DeleteFunc(x.Elts, func(d ast.Decl) bool {
			f, ok := d.(*ast.Field)
			return ok && isNull(f.Value)
		})
		for _, f := range cuesyntax.Fields(x) {
			dropNulls(f.Value)
		}
	case *ast.ListLit:
		for _, item := range x.Elts {
			dropNulls(item)
		}
	}
}

// isNull reports whether a value is null.
func isNull(e ast.Expr) bool {
	l, ok := e.(*ast.BasicLit)
	return ok && l.Kind == token.NULL
}
