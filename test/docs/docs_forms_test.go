package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/cue-modules.md")

// The CRD generator fills in the tables of CUE forms in docs/cue-modules.md, except
// their first column. A table is recognized by the head of its first column: the
// form is either the fields of an #Input or the value of its field a.
const (
	formsDoc    = "docs/cue-modules.md"
	fieldsTable = "| fields of `#Input` |"
	valuesTable = "| value of `a` |"
)

func TestForms(t *testing.T) {
	text, err := os.ReadFile(formsDoc)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	rows := 0
	var head string
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, fieldsTable), strings.HasPrefix(line, valuesTable):
			head = line
		case !strings.HasPrefix(line, "|"):
			head = ""
		case head != "" && !strings.HasPrefix(line, "|--"):
			rows++
			lines[i] = formRow(t, i+1, line, strings.HasPrefix(head, valuesTable))
		}
	}
	if rows < 30 {
		t.Errorf("%s has tables with %d forms", formsDoc, rows)
	}
	now := strings.Join(lines, "\n")
	if *update {
		if err := os.WriteFile(formsDoc, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(text), now); diff != "" {
		t.Errorf("%s isn't what go test -run TestForms -update writes (-want +got):\n%s", formsDoc, diff)
	}
}

// formRow returns a row of a table for the form in its first cell.
func formRow(t *testing.T, line int, row string, value bool) string {
	t.Helper()
	cell, _, ok := strings.Cut(strings.TrimPrefix(row, "| `"), "` |")
	if !ok {
		t.Fatalf("%s:%d: the first cell isn't code", formsDoc, line)
	}
	form := strings.ReplaceAll(cell, `\|`, "|")
	input := "#Input: {" + form + "}"
	if value {
		input = "#Input: {a: " + form + "}"
	}
	v := cuecontext.New().CompileString(imports(form) + input).LookupPath(cue.MakePath(cue.Def("Input")))
	result, err := crdgen.Generate(map[string]cue.Value{"v1": v}, cue.Value{}, v1alpha1.Names{
		Group: "example.com", Version: "v1", Kind: "Form", Plural: "forms", Singular: "form", Scope: v1alpha1.ScopeNamespaced,
	})
	if err != nil {
		t.Errorf("%s:%d: %s: %v", formsDoc, line, form, err)
		return row
	}
	spec := result.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	var rules, notes []string
	bare := plainSchema(t, spec, &rules)
	delete(bare, "type")
	if value {
		bare = bare["properties"].(map[string]any)["a"].(map[string]any)
	}
	for _, n := range result.Notes {
		notes = append(notes, strings.TrimRight(strings.TrimSuffix(n.Message, "is enforced when rendering, not by the CRD"), ", "))
	}
	cells := []string{code(form), code(flow(bare, true)), code(strings.Join(rules, "; ")), strings.Join(notes, "; ")}
	return strings.ReplaceAll("| "+strings.Join(cells, " | ")+" |", "|  ", "| ")
}

// imports returns the imports of the CUE packages that a form uses.
func imports(form string) string {
	var all string
	for _, name := range []string{"list", "math", "net", "strings", "struct", "time"} {
		if strings.Contains(form, name+".") {
			all += fmt.Sprintf("import %q\n", name)
		}
	}
	return all
}

// plainSchema returns a schema as JSON without its CEL rules, which it returns
// separately.
func plainSchema(t *testing.T, schema apiextensionsv1.JSONSchemaProps, rules *[]string) map[string]any {
	t.Helper()
	data, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var plain map[string]any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	var take func(v any)
	take = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			if own, ok := x["x-kubernetes-validations"].([]any); ok {
				for _, r := range own {
					*rules = append(*rules, r.(map[string]any)["rule"].(string))
				}
				delete(x, "x-kubernetes-validations")
			}
			for _, key := range slices.Sorted(maps.Keys(x)) {
				take(x[key])
			}
		case []any:
			for _, item := range x {
				take(item)
			}
		}
	}
	take(plain)
	return plain
}

// flow formats a value in YAML's flow style. At the top level it leaves out the
// braces and lists properties among the other keys.
func flow(v any, top bool) string {
	switch x := v.(type) {
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(x)) {
			if top && key == "properties" {
				parts = append(parts, flow(x[key], true))
				continue
			}
			parts = append(parts, key+": "+flow(x[key], false))
		}
		if top {
			return strings.Join(parts, ", ")
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, item := range x {
			parts = append(parts, flow(item, false))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return x
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was JSON
	}
	return string(data)
}

// maxCell limits the width of columns.
const maxCell = 140

// code formats text as a code span in a table cell.
func code(text string) string {
	if text == "" {
		return ""
	}
	if r := []rune(text); len(r) > maxCell {
		text = string(r[:maxCell]) + "…"
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}
