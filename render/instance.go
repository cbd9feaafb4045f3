package render

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/internal/source/fieldpath"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// Instance is one developer's object: its names, and its data as CUE syntax
// with positions.
type Instance struct {
	// File is the file of the instance, as the user named it.
	File string
	v1alpha1.ObjectRef
	// Cluster is the name of the cluster that the instance is rendered for; see [Instance.In].
	Cluster string

	// graphNamespace is the namespace of the graph. For a namespaced instance
	// it is "" until SetNamespaces.
	graphNamespace string
	// labels and annotations are nil if the instance has none.
	labels, annotations *ast.StructLit
	// spec is an empty mapping if the instance has none.
	spec ast.Expr
	doc  *ast.StructLit // the whole object
	// values are those of the cluster, or nil, and taken is called with their names; see fill.go.
	values *ast.StructLit
	taken  func(name string)
}

// Pos returns the position at which the instance begins.
func (in *Instance) Pos() problem.Position { return cuesyntax.Position(in.doc.Lbrace) }

// PosOf returns the position of a field, or of the innermost mapping on the
// way to it. The path is written as in a [problem.Problem].
func (in *Instance) PosOf(path string) problem.Position {
	return cuesyntax.PositionAt(in.doc, fieldpath.Split(path))
}

// String returns KIND [NAMESPACE/]NAME, such as "WebService shop/web".
func (in *Instance) String() string {
	if in.Namespace == "" {
		return in.Kind + " " + in.Name
	}
	return in.Kind + " " + in.Namespace + "/" + in.Name
}

// Metadata returns the labels and annotations of the instance. They are nil if it has none.
func (in *Instance) Metadata() (labels, annotations map[string]string) {
	return texts(in.labels), texts(in.annotations)
}

// texts returns the fields of a mapping of texts, which may be nil.
func texts(s *ast.StructLit) map[string]string {
	if s == nil {
		return nil
	}
	out := map[string]string{}
	for _, f := range cuesyntax.Fields(s) {
		if value, ok := cuesyntax.Text(f.Value); ok {
			out[cuesyntax.LabelName(f.Label)] = value
		}
	}
	return out
}

// Group returns the API group of the instance, "" for the core group.
func (in *Instance) Group() string {
	group, _, ok := strings.Cut(in.APIVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// Version returns the version of the instance's apiVersion.
func (in *Instance) Version() string {
	return in.APIVersion[strings.LastIndex(in.APIVersion, "/")+1:]
}

// reservedKeys mark late references and generated values. Only modules may have
// them, so that an instance can't read objects of the cluster.
var reservedKeys = []string{reference.FromKey, reference.GenerateKey}

// Instances reads the instances of a YAML or JSON file, document by document. A
// v1 List yields its items. Each element is an instance and the problems of
// everything but its spec; the instance is nil if its kind is not known. A
// document that is not YAML ends the sequence, since everything after it may be
// misread.
func Instances(file string, data []byte) iter.Seq2[*Instance, problem.List] {
	return func(yield func(*Instance, problem.List) bool) {
		for doc, ps := range yamlfile.Documents(file, data) {
			if ps != nil {
				yield(nil, ps)
				return
			}
			if !instancesOf(doc, yield) {
				return
			}
		}
	}
}

// InstanceOf reads one document as an instance. The instance is nil if its kind
// is not known.
func InstanceOf(doc yamlfile.Document) (in *Instance, ps problem.List) {
	instancesOf(doc, func(i *Instance, found problem.List) bool {
		in, ps = i, found
		return false
	})
	return in, ps
}

// instancesOf yields the instance of a document, or those of a List. An item that
// is not an object is a problem of its own and does not affect the items behind
// it. instancesOf returns false once yield does.
func instancesOf(doc yamlfile.Document, yield func(*Instance, problem.List) bool) bool {
	const notAnObject = "not an object with apiVersion, kind and metadata"
	e, ps := doc.Syntax(reservedKeys...)
	object, ok := e.(*ast.StructLit)
	if !ok && len(ps) == 0 {
		ps = problem.List{{Position: doc.Start(), Rule: problem.RuleInstance, Message: notAnObject}}
	}
	if ok && !isList(object) {
		in, found := newInstance(doc.Name(), object)
		return yield(in, append(ps, found.Without(ps)...))
	}
	// The problems of a List belong to no item, which must not be rendered then.
	if len(ps) > 0 {
		return yield(nil, ps)
	}
	items, _ := cuesyntax.Field(object, "items").Value.(*ast.ListLit)
	for _, item := range items.Elts {
		object, ok := item.(*ast.StructLit)
		if !ok {
			p := problem.Problem{Position: cuesyntax.Position(item.Pos()), Rule: problem.RuleInstance, Message: notAnObject}
			if !yield(nil, problem.List{p}) {
				return false
			}
			continue
		}
		if !yield(newInstance(doc.Name(), object)) {
			return false
		}
	}
	return true
}

// isList reports whether an object is a v1 List with items.
func isList(doc *ast.StructLit) bool {
	kind, apiVersion, items := cuesyntax.Field(doc, "kind"), cuesyntax.Field(doc, "apiVersion"), cuesyntax.Field(doc, "items")
	if kind == nil || apiVersion == nil || items == nil {
		return false
	}
	k, _ := cuesyntax.Text(kind.Value)
	v, _ := cuesyntax.Text(apiVersion.Value)
	_, ok := items.Value.(*ast.ListLit)
	return k == "List" && v == "v1" && ok
}

// metadataFields are the fields of ObjectMeta. An instance that was read from a
// cluster may have all of them; only the first four are used.
var metadataFields = []string{
	"name", "namespace", "labels", "annotations", "creationTimestamp", "deletionGracePeriodSeconds",
	"deletionTimestamp", "finalizers", "generateName", "generation", "managedFields", "ownerReferences",
	"resourceVersion", "selfLink", "uid",
}

// newInstance checks everything of an instance but its spec: known fields, types,
// and the rules of Kubernetes for names. It returns the instance in spite of
// problems if its platform can be determined, so that its spec can be checked
// too, and else nil.
func newInstance(file string, doc *ast.StructLit) (*Instance, problem.List) {
	in := &Instance{File: file, doc: doc}
	r := fieldReader{doc: doc}
	r.checkNames(doc, "", []string{"apiVersion", "kind", "metadata", "spec", "status", "graphNamespace"})
	in.APIVersion = r.str(doc, "apiVersion", true)
	in.Kind = r.str(doc, "kind", true)
	if meta := r.mapping(doc, "metadata"); meta != nil {
		r.checkNames(meta, "metadata", metadataFields)
		in.Name = r.str(meta, "metadata.name", cuesyntax.Field(meta, "generateName") == nil)
		if in.Name == "" && cuesyntax.Field(meta, "generateName") != nil {
			r.problem(cuesyntax.Field(meta, "generateName").Label, problem.RuleInstance, "metadata.generateName",
				"not supported: what is rendered needs a stable metadata.name")
		}
		in.Namespace = r.str(meta, "metadata.namespace", false)
		in.labels = r.stringMap(meta, "metadata.labels")
		in.annotations = r.stringMap(meta, "metadata.annotations")
		in.graphNamespace = r.str(doc, "graphNamespace", false)
		r.checkName(doc, "graphNamespace", in.graphNamespace, validation.IsDNS1123Label)
		r.checkName(meta, "metadata.name", in.Name, validation.IsDNS1123Subdomain)
		r.checkName(meta, "metadata.namespace", in.Namespace, validation.IsDNS1123Label)
	} else if cuesyntax.Field(doc, "metadata") == nil {
		r.problem(doc, problem.RuleRequired, "metadata", "missing")
	}
	in.spec = &ast.StructLit{Lbrace: doc.Lbrace}
	if f := cuesyntax.Field(doc, "spec"); f != nil {
		in.spec = f.Value
	}
	if in.APIVersion == "" || in.Kind == "" {
		return nil, r.problems
	}
	return in, r.problems
}

// fieldReader reads fields of an instance and collects problems. Its methods take
// the struct that has the field, and the field's path in the instance for
// messages.
type fieldReader struct {
	doc      *ast.StructLit // the whole object
	problems problem.List
}

// problem reports a problem at the position of a node.
func (r *fieldReader) problem(n ast.Node, rule, path, format string, args ...any) {
	r.problems = append(r.problems, problem.Problem{
		Position: cuesyntax.Position(n.Pos()), Path: path, Rule: rule, Message: fmt.Sprintf(format, args...),
	})
}

// checkNames reports fields of s that are not among names.
func (r *fieldReader) checkNames(s *ast.StructLit, path string, names []string) {
	for _, d := range s.Elts {
		name := cuesyntax.FieldName(d)
		if slices.Contains(names, name) {
			continue
		}
		r.problem(d.(*ast.Field).Label, problem.RuleUnknown, fieldpath.Join(path, name), "unknown field")
		r.problems[len(r.problems)-1].Hint = source.Hint(name, names)
	}
}

// last returns the last name of a dotted path.
func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }

// str returns the string at a path, whose last element is a field of s, or "".
func (r *fieldReader) str(s *ast.StructLit, path string, required bool) string {
	f := cuesyntax.Field(s, last(path))
	if f == nil {
		if required {
			r.problem(parentLabel(r.doc, s), problem.RuleRequired, path, "missing")
		}
		return ""
	}
	v, ok := cuesyntax.Text(f.Value)
	switch {
	case !ok:
		r.problem(f.Value, problem.RuleType, path, "must be a string")
	case v == "":
		r.problem(f.Value, problem.RuleInstance, path, "must not be empty")
	}
	return v
}

// parentLabel returns the syntax at which a field that is missing in s is
// reported: the label of s, or s itself if it is the whole object.
func parentLabel(doc, s *ast.StructLit) ast.Node {
	for _, e := range doc.Elts {
		if f := e.(*ast.Field); f.Value == ast.Expr(s) {
			return f.Label
		}
	}
	return s
}

// mapping returns the mapping at a path, whose last element is a field of s,
// or nil.
func (r *fieldReader) mapping(s *ast.StructLit, path string) *ast.StructLit {
	f := cuesyntax.Field(s, last(path))
	if f == nil {
		return nil
	}
	o, ok := f.Value.(*ast.StructLit)
	if !ok {
		r.problem(f.Value, problem.RuleType, path, "must be a mapping")
	}
	return o
}

// stringMap is like mapping. All values must be strings, and null counts as
// nothing.
func (r *fieldReader) stringMap(s *ast.StructLit, path string) *ast.StructLit {
	if f := cuesyntax.Field(s, last(path)); f != nil {
		if l, ok := f.Value.(*ast.BasicLit); ok && l.Value == "null" {
			return nil
		}
	}
	o := r.mapping(s, path)
	if o == nil {
		return nil
	}
	for _, d := range o.Elts {
		f := d.(*ast.Field)
		if _, ok := cuesyntax.Text(f.Value); !ok {
			r.problem(f.Value, problem.RuleType, fieldpath.Join(path, cuesyntax.LabelName(f.Label)), "must be a string")
			r.problems[len(r.problems)-1].Hint = "quote it"
		}
	}
	return o
}

// checkName checks the name at a path, whose last element is a field of meta,
// with a validation function of apimachinery. "" is not checked.
func (r *fieldReader) checkName(meta *ast.StructLit, path, value string, valid func(string) []string) {
	if value == "" {
		return
	}
	if msgs := valid(value); len(msgs) > 0 {
		r.problem(cuesyntax.Field(meta, last(path)).Value, problem.RuleInstance, path, "%q: %s", value, nameRule(msgs))
	}
}

// data returns the part of an instance that the module sees: metadata and spec.
// Labels and annotations are left out if the module does not mention them, so
// that those which other tools write on a live instance do not reach it. Other
// metadata never reaches it.
//
// An instance without a name, which is a problem already, gets one, so that its
// spec can be checked. Fields that are filled in have the position of the nearest
// label, where a message about them makes sense.
func (in *Instance) data(p *Platform) *ast.StructLit {
	at := in.doc.Lbrace
	meta := &ast.StructLit{Lbrace: at}
	var given *ast.StructLit
	metaPos := at
	if f := cuesyntax.Field(in.doc, "metadata"); f != nil {
		given, _ = f.Value.(*ast.StructLit)
		metaPos = f.Label.Pos()
	}
	add := func(name string, value ast.Expr) {
		meta.Elts = append(meta.Elts, &ast.Field{Label: cuesyntax.Label(name, value.Pos()), Value: value})
	}
	if p.allowAnnotations && in.annotations != nil {
		add("annotations", in.annotations)
	}
	if p.allowLabels && in.labels != nil {
		add("labels", in.labels)
	}
	defaults := map[string]string{"name": "name", "namespace": in.Namespace}
	for _, name := range []string{"name", "namespace"} {
		if f := cuesyntax.Field(given, name); f != nil {
			add(name, f.Value)
			continue
		}
		add(name, cuesyntax.String(defaults[name], metaPos))
	}
	specPos := at
	if f := cuesyntax.Field(in.doc, "spec"); f != nil {
		specPos = f.Label.Pos()
	}
	return &ast.StructLit{Lbrace: at, Elts: []ast.Decl{
		&ast.Field{Label: cuesyntax.Label("metadata", metaPos), Value: meta},
		&ast.Field{Label: cuesyntax.Label("spec", specPos), Value: in.spec},
	}}
}
