package action

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/pequod-io/pequod/api/reference"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
)

// run is the environment of expressions over the variable run.
var run = sync.OnceValue(func() *reference.Variables { return reference.NewVariables("run") })

// Check returns the problems of the spec of an Action, as decoded JSON. Their paths begin at the
// spec. It finds executors that are missing or one too many, also beside late references, those of a
// check or a destroy that lack a field, mistakes in expressions, and mistakes in the sources of the
// executor terraform. Late references and values of wrong types are accepted.
func Check(spec map[string]any) problem.List {
	w := walker{}
	w.executors(spec)
	w.terraform(spec)
	for _, at := range []string{"check", "destroy"} {
		nested, ok := spec[at].(map[string]any)
		if _, late := nested[reference.FromKey]; !ok || late || at == "destroy" && nested["skip"] == true {
			continue
		}
		w.path = reference.Path{at}
		w.executors(nested)
		w.terraform(nested)
		w.complete(nested, spec)
	}
	w.path = nil
	w.value(spec, reflect.TypeFor[v1alpha1.ActionSpec]())
	return w.problems
}

// walker walks a value and its Go type in parallel and collects problems.
type walker struct {
	problems problem.List
	path     reference.Path // of the current value
}

func (w *walker) add(p problem.Problem) {
	p.Path = w.path.String()
	w.problems = append(w.problems, p)
}

// executors checks that exactly one executor is there.
func (w *walker) executors(fields map[string]any) {
	var given []string
	for _, name := range slices.Sorted(maps.Keys(jsonFields(reflect.TypeFor[v1alpha1.ActionExecutor]()))) {
		if fields[name] != nil {
			given = append(given, name)
		}
	}
	switch {
	case len(given) == 0:
		w.add(problem.Problem{Message: "has no executor", Hint: "such as http"})
	case len(given) > 1:
		w.path = append(w.path, given[1])
		w.add(problem.Problem{Message: "given beside " + given[0] + ": an Action has one executor"})
		w.path = w.path[:len(w.path)-1]
	}
}

// terraform checks the source of the executor terraform.
func (w *walker) terraform(fields map[string]any) {
	if t, ok := fields["terraform"].(map[string]any); ok {
		outer := w.path
		w.path = append(slices.Clone(outer), "terraform")
		w.source(t)
		w.path = outer
	}
}

// inherited are the fields that the executor of a check or a destroy needs, and takes over from the
// same executor of the spec.
var inherited = []struct {
	executor string
	fields   []string
}{
	{"githubWorkflow", []string{"repository", "ref", "auth"}},
	{"gitlabPipeline", []string{"project", "ref", "auth"}},
	{"terraform", []string{"image", "source"}},
}

// complete checks that the executor of a check or a destroy has what it can't take over, because the
// spec has another executor.
func (w *walker) complete(nested, spec map[string]any) {
	for _, e := range inherited {
		request, ok := nested[e.executor].(map[string]any)
		if _, late := request[reference.FromKey]; !ok || late || spec[e.executor] != nil {
			continue
		}
		w.path = append(w.path, e.executor)
		for _, field := range e.fields {
			if request[field] == nil {
				w.add(problem.Problem{Message: "has no " + field + ", and spec." + e.executor + " isn't there to take it over from"})
			}
		}
		w.path = w.path[:len(w.path)-1]
	}
}

// value checks the expressions in a value.
func (w *walker) value(v any, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := v.(type) {
	case string:
		if t == reflect.TypeFor[v1alpha1.ActionExpression]() {
			w.expression(v)
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, item := range v {
				w.child(i, item, t.Elem())
			}
		}
	case map[string]any:
		switch t.Kind() {
		case reflect.Map:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				w.child(key, v[key], t.Elem())
			}
		case reflect.Struct:
			fields := jsonFields(t)
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if field, ok := fields[name]; ok {
					w.child(name, v[name], field)
				}
			}
		default: // a late reference, or a value of a wrong type
		}
	}
}

// child checks the value at a map key or a list index.
func (w *walker) child(key, v any, t reflect.Type) {
	w.path = append(w.path, key)
	w.value(v, t)
	w.path = w.path[:len(w.path)-1]
}

// expression checks an expression over run.
func (w *walker) expression(expr string) {
	program, issues := run().Compile(expr, &reference.Budget{})
	for _, issue := range issues {
		w.add(problem.Problem{Message: issue.Message, Hint: issue.Hint})
	}
	if len(issues) == 0 && w.path[0] != "sensitiveOutputs" && slices.ContainsFunc(program.Selects("run"), isSensitive) {
		w.add(problem.Problem{Message: "reads run.sensitive", Hint: "only the expressions of sensitiveOutputs can"})
	}
}

func isSensitive(path reference.Path) bool { return path[0] == "sensitive" }

// jsonFields returns the types of the fields of a struct, by their names in JSON. Those of
// embedded structs are among them.
func jsonFields(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case options == "inline":
			maps.Copy(fields, jsonFields(f.Type))
		case name != "" && name != "-":
			fields[name] = f.Type
		}
	}
	return fields
}

// Spec returns the spec of an object, or nil if the object is not an Action.
func Spec(object map[string]any) map[string]any {
	if object["kind"] != "Action" || object["apiVersion"] != v1alpha1.GroupVersion.String() {
		return nil
	}
	spec, _ := object["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
	}
	return spec
}
