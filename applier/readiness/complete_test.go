package readiness

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// The files that list the types of checks, see the recipe in CONTRIBUTING.md.
const (
	apiFile        = "../../api/v1alpha1/resourcegraph.go"
	definitionFile = "../../config/crd/platform.pequod.io_resourcegraphs.yaml" // generated from apiFile
	kindsFile      = "../../render/kinds/ready.go"
	documentFile   = "../../docs/cue-modules.md"
)

// Every type of check must be known to all packages and documents that list them.
func TestEveryCheckIsComplete(t *testing.T) {
	constants := readyConstants(t)
	want := slices.Sorted(maps.Values(constants))
	compare := func(list string, got []string) {
		t.Helper()
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s doesn't list the constants of type ReadyType (-constants +listed):\n%s", list, diff)
		}
	}

	var types, table []string
	for _, typ := range v1alpha1.ReadyTypes {
		types = append(types, string(typ))
	}
	for typ := range checks {
		table = append(table, string(typ))
	}
	compare("ReadyTypes in "+apiFile, types)
	compare("the table of checks in checks.go", table)
	compare("the Enum marker in "+apiFile, strings.Split(submatch(t, apiFile, `validation:Enum=(\S+)\ntype ReadyType `), ";"))
	compare(definitionFile+" (run make generate)", definitionEnum(t))
	compare(documentFile, documentedTypes(t))

	kinds := read(t, kindsFile)
	for constant, typ := range constants {
		if !strings.Contains(kinds, "v1alpha1."+constant+":") {
			t.Errorf("readyKinds in %s has no entry for %s", kindsFile, typ)
		}
	}
}

// readyConstants returns the values of the constants of type ReadyType by name.
func readyConstants(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), apiFile, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if typ, ok := spec.Type.(*ast.Ident); !ok || typ.Name != "ReadyType" {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		constants[spec.Names[0].Name] = value
		return true
	})
	return constants
}

// definitionEnum returns the types that the CustomResourceDefinition admits.
func definitionEnum(t *testing.T) []string {
	t.Helper()
	var definition any
	if err := yaml.Unmarshal([]byte(read(t, definitionFile)), &definition); err != nil {
		t.Fatal(err)
	}
	var enum []string
	var search func(v any)
	search = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				search(item)
			}
		case map[string]any:
			if readyWhen, ok := v["readyWhen"].(map[string]any); ok {
				typ := readyWhen["items"].(map[string]any)["properties"].(map[string]any)["type"].(map[string]any)
				for _, value := range typ["enum"].([]any) {
					enum = append(enum, value.(string))
				}
			}
			for _, value := range v {
				search(value)
			}
		}
	}
	search(definition)
	return enum
}

// documentedTypes returns the first column of the table that has the row of Exists.
func documentedTypes(t *testing.T) []string {
	t.Helper()
	rows := submatch(t, documentFile, "(?m)((?:^\\| `[A-Z]\\w*` \\|.*\n)*^\\| `Exists` \\|.*\n(?:^\\| `[A-Z]\\w*` \\|.*\n)*)")
	var types []string
	for _, match := range regexp.MustCompile("(?m)^\\| `(\\w+)`").FindAllStringSubmatch(rows, -1) {
		types = append(types, match[1])
	}
	return types
}

// submatch returns what the group of a pattern matches in a file.
func submatch(t *testing.T, file, pattern string) string {
	t.Helper()
	match := regexp.MustCompile(pattern).FindStringSubmatch(read(t, file))
	if match == nil {
		t.Fatalf("%s doesn't match %s", file, pattern)
	}
	return match[1]
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
