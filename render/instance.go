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

// Instance is one developer's object: its names, and its data as syntax that
// knows its places.
type Instance struct {
	File string
	v1alpha1.ObjectRef

	graphNamespace      string
	labels, annotations *ast.StructLit
	spec                ast.Expr
	doc                 *ast.StructLit
}

// Pos is where the instance begins.
func (in *Instance) Pos() problem.Position { return cuesyntax.Position(in.doc.Lbrace) }

// PosOf is where a field of the instance stands, or the innermost mapping on the
// way to it. The path is written as in a [Problem].
func (in *Instance) PosOf(path string) problem.Position {
	return cuesyntax.PositionAt(in.doc, fieldpath.Split(path))
}

func (in *Instance) String() string {
	if in.Namespace == "" {
		return in.Kind + " " + in.Name
	}
	return in.Kind + " " + in.Namespace + "/" + in.Name
}

// Group is the API group of the instance.
func (in *Instance) Group() string {
	group, _, ok := strings.Cut(in.APIVersion, "/")
	if !ok {
		return ""
	}
	return group
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

// instancesOf yields the instance of a document, or those of a List.
func instancesOf(doc yamlfile.Document, yield func(*Instance, problem.List) bool) bool {
	const notAnObject = "not an object with apiVersion, kind and metadata"
	e, ps := doc.Syntax(reservedKeys...)
	object, ok := e.(*ast.StructLit)
	if !ok && len(ps) == 0 {
		ps = problem.List{{Position: doc.Start(), Rule: problem.RuleInstance, Message: notAnObject}}
	}
	if len(ps) > 0 {
		return yield(nil, ps)
	}
	if !isList(object) {
		return yield(newInstance(doc.Name(), object))
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

// metadataFields are those of ObjectMeta: on an instance that was read from a
// cluster all of them may stand there, and none but the first four is used.
var metadataFields = []string{
	"name", "namespace", "labels", "annotations", "creationTimestamp", "deletionGracePeriodSeconds",
	"deletionTimestamp", "finalizers", "generateName", "generation", "managedFields", "ownerReferences",
	"resourceVersion", "selfLink", "uid",
}

// newInstance checks everything of an instance but its spec. Whatever is wrong
// with it, an instance comes back if it can be told which platform it is for, so
// that its spec can be checked too.
func newInstance(file string, doc *ast.StructLit) (*Instance, problem.List) {
	in := &Instance{File: file, doc: doc}
	r := reader{at: doc}
	r.known(doc, "", []string{"apiVersion", "kind", "metadata", "spec", "status", "graphNamespace"})
	in.APIVersion = r.text(doc, "apiVersion", true)
	in.Kind = r.text(doc, "kind", true)
	if meta := r.object(doc, "metadata"); meta != nil {
		r.known(meta, "metadata", metadataFields)
		in.Name = r.text(meta, "metadata.name", cuesyntax.Field(meta, "generateName") == nil)
		if in.Name == "" && cuesyntax.Field(meta, "generateName") != nil {
			r.problem(cuesyntax.Field(meta, "generateName").Label, problem.RuleInstance, "metadata.generateName",
				"not supported: what is rendered needs a stable metadata.name")
		}
		in.Namespace = r.text(meta, "metadata.namespace", false)
		in.labels = r.strings(meta, "metadata.labels")
		in.annotations = r.strings(meta, "metadata.annotations")
		in.graphNamespace = r.text(doc, "graphNamespace", false)
		r.check(doc, "graphNamespace", in.graphNamespace, validation.IsDNS1123Label)
		r.check(meta, "metadata.name", in.Name, validation.IsDNS1123Subdomain)
		r.check(meta, "metadata.namespace", in.Namespace, validation.IsDNS1123Label)
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

// reader picks fields out of an instance and gathers what is wrong with them.
type reader struct {
	at       ast.Node
	problems problem.List
}

func (r *reader) problem(n ast.Node, rule, path, format string, args ...any) {
	r.problems = append(r.problems, problem.Problem{
		Position: cuesyntax.Position(n.Pos()), Path: path, Rule: rule, Message: fmt.Sprintf(format, args...),
	})
}

func (r *reader) known(s *ast.StructLit, path string, names []string) {
	for _, d := range s.Elts {
		name := cuesyntax.FieldName(d)
		if slices.Contains(names, name) {
			continue
		}
		r.problem(d.(*ast.Field).Label, problem.RuleUnknown, fieldpath.Join(path, name), "unknown field")
		r.problems[len(r.problems)-1].Hint = source.Hint(name, names)
	}
}

// last is the last name of a dotted path.
func last(path string) string { return path[strings.LastIndex(path, ".")+1:] }

func (r *reader) text(s *ast.StructLit, path string, required bool) string {
	f := cuesyntax.Field(s, last(path))
	if f == nil {
		if required {
			r.problem(parentLabel(r.at, s), problem.RuleRequired, path, "missing")
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

// parentLabel is where a missing field is reported: where its struct begins.
func parentLabel(doc ast.Node, s *ast.StructLit) ast.Node {
	if d, ok := doc.(*ast.StructLit); ok {
		for _, e := range d.Elts {
			if f := e.(*ast.Field); f.Value == ast.Expr(s) {
				return f.Label
			}
		}
	}
	return s
}

func (r *reader) object(s *ast.StructLit, path string) *ast.StructLit {
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

// strings gives a mapping whose values must all be strings.
func (r *reader) strings(s *ast.StructLit, path string) *ast.StructLit {
	if f := cuesyntax.Field(s, last(path)); f != nil {
		if l, ok := f.Value.(*ast.BasicLit); ok && l.Value == "null" {
			return nil
		}
	}
	o := r.object(s, path)
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

func (r *reader) check(meta *ast.StructLit, path, value string, valid func(string) []string) {
	if value == "" {
		return
	}
	if msgs := valid(value); len(msgs) > 0 {
		r.problem(cuesyntax.Field(meta, last(path)).Value, problem.RuleInstance, path, "%q: %s", value, nameRule(msgs))
	}
}

// nameRule gives what Kubernetes says of a bad name without its examples and
// regular expressions.
func nameRule(msgs []string) string {
	rules := make([]string, len(msgs))
	for i, msg := range msgs {
		rules[i], _, _ = strings.Cut(msg, " (e.g.")
	}
	return strings.Join(rules, "; ")
}
