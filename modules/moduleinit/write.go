package moduleinit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"cuelang.org/go/cue/ast"
	"cuelang.org/go/cue/format"
	"cuelang.org/go/cue/literal"
	"cuelang.org/go/cue/token"

	"github.com/pequod-io/pequod/internal/source/cuesyntax"
	"github.com/pequod-io/pequod/render"
)

// podSpecs are the paths of the Pod template's spec, by API group and kind of the
// workloads of Kubernetes.
var podSpecs = map[string][]string{
	"/Pod":             {"spec"},
	"apps/DaemonSet":   {"spec", "template", "spec"},
	"apps/Deployment":  {"spec", "template", "spec"},
	"apps/ReplicaSet":  {"spec", "template", "spec"},
	"apps/StatefulSet": {"spec", "template", "spec"},
	"batch/CronJob":    {"spec", "jobTemplate", "spec", "template", "spec"},
	"batch/Job":        {"spec", "template", "spec"},
}

// files implements [Source]: it returns the templates, with a schema, a render template
// and a test case for the objects.
func (m *Manifests) files(name string) (map[string][]byte, error) {
	all, err := templateFiles{}.files(name)
	if err != nil {
		return nil, err
	}
	for file := range all {
		if strings.HasPrefix(file, "tests/") {
			delete(all, file)
		}
	}
	kind := render.KindName(name)
	var schema, render bytes.Buffer
	fmt.Fprintf(&schema, "package %s\n\n// What developers write: the spec of a %s. Everything has a default, the value of\n"+
		"// the manifests. Add what differs between instances.\n#Input: {\n", packageName(name), kind)
	fmt.Fprintf(&render, `package %s

// What a %s becomes. Names are those of the manifests. If a namespace may have
// several instances, derive them from input.metadata.name, also in selectors and
// wherever an object refers to another.
#Render: {
	input: {
		metadata: {name: string, namespace: string}
		spec: #Input
	}

	output: #Graph & {`, packageName(name), kind)
	for _, o := range m.objects {
		if o.syntax == nil {
			fmt.Fprintf(&render, "\n// The values of this Secret were not copied: it must exist.\nnodes: %s: externalRef: ", label(o.id))
			writeValue(&render, o.externalRef())
			render.WriteString("\n")
			continue
		}
		parameters(&schema, o)
		fmt.Fprintf(&render, "\nnodes: %s: resource: ", label(o.id))
		writeValue(&render, o.syntax)
		render.WriteString("\n")
	}
	schema.WriteString("}\n")
	render.WriteString("}\n}\n")
	all["tests/basic/instance.yaml"] = fmt.Appendf(nil, "apiVersion: pequod.io/v1alpha1\nkind: %s\nmetadata:\n  name: %s\nspec: {}\n", kind, name)
	for file, b := range map[string]*bytes.Buffer{"schema.cue": &schema, "render.cue": &render} {
		data, err := format.Source(b.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[file] = data
	}
	return all, nil
}

// externalRef returns the reference to an object that is only read.
func (o object) externalRef() *ast.StructLit {
	ref := map[string]any{"apiVersion": o.apiVersion, "kind": o.kind, "name": o.name}
	if o.namespace != "" {
		ref["namespace"] = o.namespace
	}
	return cuesyntax.Data(ref).(*ast.StructLit)
}

// parameters writes the parameters of a workload to the schema, if it has any, and
// replaces their values in the object by references.
func parameters(schema *bytes.Buffer, o object) {
	path, ok := podSpecs[o.key().apiVersion+"/"+o.kind]
	if !ok {
		return
	}
	images := imagesOf(o.syntax, path)
	replicas := replicasOf(o.syntax)
	if len(images) == 0 && replicas == nil {
		return
	}
	fmt.Fprintf(schema, "// Settings of the %s.\n%s: {\n", o.identity, label(o.id))
	add := func(comment string, f *ast.Field, bound string, names ...string) {
		fmt.Fprintf(schema, "// %s\n%s: *", comment, strings.Join(names, ": "))
		writeValue(schema, f.Value)
		fmt.Fprintf(schema, " | %s\n", bound)
		f.Value = reference(append([]string{"spec", label(o.id)}, names...))
	}
	for _, image := range images {
		if len(images) == 1 {
			add("Container image.", image.field, `string & !=""`, "image")
			continue
		}
		add("Image of the container "+image.container+".", image.field, `string & !=""`, "images", label(image.container))
	}
	if replicas != nil {
		add("Number of Pods.", replicas, "int32 & >=0", "replicas")
	}
	schema.WriteString("}\n")
}

// reference returns a reference to a field of the input. Its path has labels as CUE
// writes them.
func reference(path []string) ast.Expr {
	return &ast.Ident{Name: "input." + strings.Join(path, ".")}
}

// containerImage is the field image of a container.
type containerImage struct {
	container string
	field     *ast.Field
}

// imagesOf returns the images of the containers of a Pod, whose spec is at path.
// Containers without a name or an image are left out.
func imagesOf(s *ast.StructLit, path []string) []containerImage {
	var all []containerImage
	for _, list := range []string{"initContainers", "containers"} {
		containers, ok := cuesyntax.ValueAt(s, append(slices.Clone(path), list)).(*ast.ListLit)
		if !ok {
			continue
		}
		for _, e := range containers.Elts {
			c, ok := e.(*ast.StructLit)
			if !ok {
				continue
			}
			name, _ := cuesyntax.Text(cuesyntax.ValueAt(c, []string{"name"}))
			image, _ := cuesyntax.Text(cuesyntax.ValueAt(c, []string{"image"}))
			if name != "" && image != "" {
				all = append(all, containerImage{name, cuesyntax.Field(c, "image")})
			}
		}
	}
	return all
}

// replicasOf returns the field spec.replicas, or nil if it is not a number. Workloads
// without it are often scaled by an autoscaler, so they get no parameter.
func replicasOf(s *ast.StructLit) *ast.Field {
	spec, ok := cuesyntax.ValueAt(s, []string{"spec"}).(*ast.StructLit)
	if !ok {
		return nil
	}
	f := cuesyntax.Field(spec, "replicas")
	if f == nil {
		return nil
	}
	if l, ok := f.Value.(*ast.BasicLit); !ok || l.Kind != token.INT {
		return nil
	}
	return f
}

// writeValue writes data as CUE. [format.Source] indents it. A struct with one field
// is written as a: b, as people write CUE.
func writeValue(w *bytes.Buffer, e ast.Expr) {
	switch x := e.(type) {
	case *ast.StructLit:
		fields := cuesyntax.Fields(x)
		if len(fields) == 0 {
			w.WriteString("{}")
			return
		}
		end := ""
		if len(fields) > 1 {
			end = "\n"
		}
		w.WriteString("{" + end)
		for _, f := range fields {
			name := label(cuesyntax.LabelName(f.Label))
			w.WriteString(name + ": ")
			for inner, ok := f.Value.(*ast.StructLit); ok && len(inner.Elts) == 1; inner, ok = f.Value.(*ast.StructLit) {
				f = cuesyntax.Fields(inner)[0]
				w.WriteString(label(cuesyntax.LabelName(f.Label)) + ": ")
			}
			writeValue(w, f.Value)
			w.WriteString(end)
		}
		w.WriteString("}")
	case *ast.ListLit:
		// Structs are on lines of their own, unless there is one.
		open, between, end := "[", ", ", "]"
		if len(x.Elts) > 1 && slices.ContainsFunc(x.Elts, isStruct) {
			open, between, end = "[\n", ",\n", ",\n]"
		}
		w.WriteString(open)
		for i, item := range x.Elts {
			if i > 0 {
				w.WriteString(between)
			}
			writeValue(w, item)
		}
		w.WriteString(end)
	case *ast.BasicLit:
		w.WriteString(scalar(x))
	case *ast.Ident:
		w.WriteString(x.Name)
	}
}

// scalar returns a scalar as CUE, a string of several lines as a multi-line string.
func scalar(l *ast.BasicLit) string {
	if s, ok := cuesyntax.Text(l); ok {
		return literal.String.WithOptionalTabIndent(1).Quote(s)
	}
	return l.Value
}

// isStruct reports whether a value is a struct.
func isStruct(e ast.Expr) bool {
	_, ok := e.(*ast.StructLit)
	return ok
}

// label returns the label of a field, quoted if it has to be. Hidden fields and
// definitions would not be data, and a field input, string or int32 would hide what
// expressions of the module refer to.
func label(name string) string {
	hides := slices.Contains([]string{"input", "int32", "string"}, name)
	if ast.IsValidIdent(name) && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "#") && !token.Lookup(name).IsKeyword() && !hides {
		return name
	}
	return literal.Label.Quote(name)
}
