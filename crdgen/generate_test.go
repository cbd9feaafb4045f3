package crdgen

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func testNames() v1alpha1.Names {
	return v1alpha1.Names{
		Group: "pequod.io", Version: "v1alpha1", Kind: "Thing", Plural: "things", Singular: "thing",
		Scope: v1alpha1.ScopeNamespaced, Transform: "thing",
	}
}

// inputOf compiles a schema file and returns its #Input.
func inputOf(t testing.TB, source []byte) cue.Value {
	t.Helper()
	v := cuecontext.New().CompileBytes(source, cue.Filename("schema.cue"))
	if err := v.Err(); err != nil {
		return v
	}
	return v.LookupPath(cue.ParsePath("#Input"))
}

// TestForms generates the CRD of every schema in testdata. A file holds
// schema.cue; docs.yaml, documents to put into spec; and the goldens: want.yaml,
// the schema of spec, notes, and verdicts, what CUE and the API server's code say
// about each document. Whatever CUE accepts the API server must accept, whatever
// the golden says.
func TestForms(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata: %v, %d files", err, len(files))
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			golden := *archive
			golden.Files = nil
			got := map[string][]byte{}
			for _, f := range archive.Files {
				if f.Name == "schema.cue" || f.Name == "docs.yaml" {
					got[f.Name] = f.Data
					golden.Files = append(golden.Files, f)
				}
			}
			for _, f := range runForm(t, got["schema.cue"], got["docs.yaml"]) {
				if len(f.Data) > 0 {
					golden.Files = append(golden.Files, f)
				}
			}
			if *update {
				if err := os.WriteFile(name, txtar.Format(&golden), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(archive)), string(txtar.Format(&golden))); diff != "" {
				t.Errorf("(-want +got, rewrite with -update)\n%s", diff)
			}
		})
	}
}

func runForm(t *testing.T, source, docs []byte) []txtar.File {
	input := inputOf(t, source)
	result, err := Generate(input, testNames())
	if err != nil {
		return []txtar.File{{Name: "error", Data: []byte(errorText(err))}}
	}
	again, err := Generate(inputOf(t, source), testNames())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(marshal(t, result), marshal(t, again)); diff != "" {
		t.Errorf("second run (-first +second):\n%s", diff)
	}
	schema := result.CRD.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	want, err := yaml.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	for _, n := range result.Notes {
		fmt.Fprintf(&notes, "%v: %s: %s\n", n.Pos, n.Path, n.Message)
	}
	return []txtar.File{
		{Name: "want.yaml", Data: want},
		{Name: "notes", Data: notes.Bytes()},
		{Name: "verdicts", Data: []byte(verdicts(t, input, result.CRD, docs))},
	}
}

func errorText(err error) string {
	out := err.Error() + "\n"
	for _, p := range errors.Positions(err) {
		out += fmt.Sprintf("at %v\n", p)
	}
	return out
}

func marshal(t testing.TB, r *Result) string {
	t.Helper()
	out, err := Marshal(r.CRD)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// verdicts holds every document against CUE and against the CRD.
func verdicts(t *testing.T, input cue.Value, crd *crdType, docs []byte) string {
	server := newServer(t, crd)
	var out strings.Builder
	for i, doc := range bytes.Split(docs, []byte("---\n")) {
		if len(bytes.TrimSpace(doc)) == 0 {
			continue
		}
		cueErr := unify(input, doc).Validate(cue.Concrete(true))
		stored, crdErr := server.admit(doc)
		name := strings.Join(strings.Fields(string(doc)), " ")
		fmt.Fprintf(&out, "%d. cue %s, crd %s: %s\n", i+1, verdict(cueErr), verdict(crdErr), name)
		if cueErr != nil {
			continue
		}
		if crdErr != nil {
			t.Errorf("CUE accepts what the CRD rejects:\n%s%v", doc, crdErr)
			continue
		}
		// An instance renders the same before and after the server stored it.
		if diff := cmp.Diff(export(t, unify(input, doc)), export(t, unify(input, stored))); diff != "" {
			t.Errorf("storing changes what is rendered:\n%s(-before +after)\n%s", doc, diff)
		}
	}
	return out.String()
}

func verdict(err error) string {
	if err != nil {
		return "no"
	}
	return "yes"
}

func export(t *testing.T, v cue.Value) any {
	t.Helper()
	data, err := v.MarshalJSON()
	if err != nil {
		t.Errorf("exporting: %v", err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Errorf("exporting: %v", err)
	}
	return out
}

func TestMarshalQuotesKeysThatYAMLReadsAsBools(t *testing.T) {
	result, err := Generate(inputOf(t, []byte(`#Input: {y: int, n?: int}`)), testNames())
	if err != nil {
		t.Fatal(err)
	}
	out := marshal(t, result)
	for _, want := range []string{`"y":`, `"n":`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	for _, not := range []string{"creationTimestamp: null", "storedVersions"} {
		if strings.Contains(out, not) {
			t.Errorf("%s in\n%s", not, out)
		}
	}
}

func TestValidateListsEveryProblem(t *testing.T) {
	result, err := Generate(inputOf(t, []byte(`#Input: {a: int}`)), testNames())
	if err != nil {
		t.Fatal(err)
	}
	crd := result.CRD.DeepCopy()
	crd.Spec.Names.Kind = "no kind"
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["a"] = props{Type: "nothing"}
	err = Validate(context.Background(), crd)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"spec.names.kind", `properties[a].type`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %s in %v", want, err)
		}
	}
}
