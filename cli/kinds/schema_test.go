package kinds

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yannh/kubeconform/pkg/validator"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/cli/command"
)

// writeSchemas runs the command schema with --output-dir and returns the directory.
func writeSchemas(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "schemas")
	var out, errs bytes.Buffer
	cmd := newSchemaCommand(command.Env{Out: &out, Err: &errs, In: strings.NewReader(""), Getenv: func(string) (string, bool) { return "", false }})
	cmd.SetArgs(append(args, "--output-dir", dir))
	if err := cmd.ExecuteContext(t.Context()); err != nil || out.Len()+errs.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, &out, &errs)
	}
	return dir
}

// samples returns instances of the embedded modules and a graph, all of them valid.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"../../modules/platform/*/tests/*/instance.yaml", "../../modules/platform/*/tests/*/graph.yaml", "../../config/samples/resourcegraph.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			// An instance whose test expects an error has no graph.
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), "graph.yaml")); err != nil && filepath.Base(file) == "instance.yaml" {
				continue
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[file] = data
		}
	}
	if len(all) < 30 {
		t.Fatalf("only %d samples", len(all))
	}
	return all
}

// wrong are changes that make an instance of WebService invalid.
var wrong = map[string]string{
	"unknown field":         "spec: {image: nginx, prot: 80}",
	"type":                  "spec: {image: nginx, replicas: many}",
	"bound":                 "spec: {image: nginx, port: 70000}",
	"missing":               "spec: {port: 80}",
	"enumeration":           "spec: {image: nginx, imagePullPolicy: Sometimes}",
	"unknown in a list":     "spec: {image: nginx, secretEnv: {A: {nam: x}}}",
	"unknown at the top":    "spec: {image: nginx}\nspce: {}",
	"unknown in metadata":   "spec: {image: nginx}\nmetadata: {name: web, lables: {}}",
	"metadata without name": "spec: {image: nginx}\nmetadata: {}",
}

// TestKubeconform validates instances with kubeconform's own code, which finds the schemas
// by the names of their files.
func TestKubeconform(t *testing.T) {
	for layout, location := range map[string]string{
		"kubeconform":  "{{.ResourceKind}}{{.KindSuffix}}.json",
		"crds-catalog": "{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json",
	} {
		dir := writeSchemas(t, "--layout", layout)
		v, err := validator.New([]string{dir + "/" + location}, validator.Opts{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		verdict := func(data []byte) error {
			for _, r := range v.Validate("x.yaml", io.NopCloser(bytes.NewReader(data))) {
				if r.Status != validator.Valid {
					return r.Err
				}
			}
			return nil
		}
		for file, data := range samples(t) {
			if err := verdict(data); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		for name, rest := range wrong {
			if err := verdict(webService(t, rest)); err == nil || strings.Contains(err.Error(), "could not find schema") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// webService returns an instance with the given fields.
func webService(t *testing.T, rest string) []byte {
	t.Helper()
	head := "apiVersion: pequod.io/v1alpha1\nkind: WebService\n"
	if !strings.Contains(rest, "metadata:") {
		head += "metadata: {name: web}\n"
	}
	return []byte(head + rest + "\n")
}

// TestAllFile validates the same instances with the schema of all kinds.
func TestAllFile(t *testing.T) {
	for _, layout := range []string{"kubeconform", "crds-catalog"} {
		all, err := jsonschema.NewCompiler().Compile(filepath.Join(writeSchemas(t, "--layout", layout), "all.json"))
		if err != nil {
			t.Fatal(err)
		}
		verdict := func(data []byte) error {
			var doc any
			if err := yaml.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			return all.Validate(doc)
		}
		for file, data := range samples(t) {
			if err := verdict(data); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
		for name, rest := range wrong {
			if err := verdict(webService(t, rest)); err == nil {
				t.Errorf("%s: is valid", name)
			}
		}
		if err := verdict([]byte("apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n")); err != nil {
			t.Errorf("another kind: %v", err)
		}
	}
}
