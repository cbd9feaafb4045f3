package crdgen

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/errors"
	"cuelang.org/go/cue/load"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/schema/read"
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
	_, input := moduleOf(source)
	return input
}

// generate makes the CRD of a kind with one version and without #Status.
func generate(input cue.Value, names v1alpha1.Names) (*Result, error) {
	return Generate(map[string]cue.Value{names.Version: input}, cue.Value{}, names)
}

// moduleOf compiles a schema file and returns it with its #Input.
func moduleOf(source []byte) (module, input cue.Value) {
	v := cuecontext.New().CompileBytes(source, cue.Filename("schema.cue"))
	if v.Err() != nil {
		return v, v
	}
	return v, v.LookupPath(cue.ParsePath("#Input"))
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
	module, input := moduleOf(source)
	result, err := generate(input, testNames())
	if err != nil {
		return []txtar.File{{Name: "error", Data: []byte(errorText(err))}}
	}
	again, err := generate(inputOf(t, source), testNames())
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
		fmt.Fprintf(&notes, "%v: %s: %s\n", n.Position, n.Path, n.Message)
	}
	return []txtar.File{
		{Name: "want.yaml", Data: want},
		{Name: "notes", Data: notes.Bytes()},
		{Name: "verdicts", Data: []byte(verdicts(t, module, result, docs))},
	}
}

func errorText(err error) string {
	out := err.Error() + "\n"
	for _, p := range errors.Positions(err) {
		out += fmt.Sprintf("at %v\n", p)
	}
	var problems problem.List
	if errors.As(err, &problems) {
		for _, p := range problems {
			out += fmt.Sprintf("at %v\n", p.Position)
		}
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
func verdicts(t *testing.T, module cue.Value, result *Result, docs []byte) string {
	server := newServer(t, result.CRD)
	var out strings.Builder
	for i, doc := range splitDocs(docs) {
		c := compare(module, server, doc)
		fmt.Fprintf(&out, "%d. cue %s, crd %s: %s\n", i+1, verdict(c.cue), verdict(c.crd), oneLine(doc))
		switch {
		case c.falselyRejected():
			t.Errorf("CUE accepts what the CRD rejects:\n%s\n%v", doc, c.crd)
		case c.changed != "":
			t.Errorf("storing changes what is rendered:\n%s\n(-before +after)\n%s", doc, c.changed)
		case c.letThrough():
			if _, ok := admits(result.Notes, c.cue); !ok {
				t.Errorf("the CRD accepts what CUE rejects, and no note says so:\n%s\n%v", doc, c.cue)
			}
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

func TestMarshalQuotesKeysThatYAMLReadsAsBools(t *testing.T) {
	result, err := generate(inputOf(t, []byte(`#Input: {y: int, n?: int}`)), testNames())
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
	result, err := generate(inputOf(t, []byte(`#Input: {a: int}`)), testNames())
	if err != nil {
		t.Fatal(err)
	}
	crd := result.CRD.DeepCopy()
	crd.Spec.Names.Kind = "no kind"
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["a"] = props{Type: "nothing"}
	problems, err := problemsOf(crd)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(problemsError(crd, problems))
	for _, want := range []string{"spec.names.kind", `properties[a].type`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

// webservice is the embedded module's #Input and what a caller makes of its
// #Platform.
func webservice(t testing.TB) (cue.Value, v1alpha1.Names) {
	t.Helper()
	instances := load.Instances([]string{"."}, &load.Config{Dir: filepath.Join("..", "modules", "platform", "webservice")})
	v := cuecontext.New().BuildInstance(instances[0])
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	var platform struct {
		Kind           string                   `json:"kind"`
		ShortNames     []string                 `json:"shortNames"`
		Categories     []string                 `json:"categories"`
		PrinterColumns []v1alpha1.PrinterColumn `json:"printerColumns"`
	}
	if err := v.LookupPath(cue.ParsePath("#Platform")).Decode(&platform); err != nil {
		t.Fatal(err)
	}
	return v.LookupPath(cue.ParsePath("#Input")), v1alpha1.Names{
		Group: "pequod.io", Version: "v1alpha1", Kind: platform.Kind, Plural: "webservices", Singular: "webservice",
		ShortNames: platform.ShortNames, Categories: platform.Categories, Scope: v1alpha1.ScopeNamespaced,
		PrinterColumns: platform.PrinterColumns, Transform: "webservice",
	}
}

func TestWebserviceModule(t *testing.T) {
	result, err := generate(webservice(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Notes) > 0 {
		t.Errorf("notes: %v", result.Notes)
	}
	golden := filepath.Join("testdata", "webservice.yaml")
	got := marshal(t, result)
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got, rewrite with -update)\n%s", diff)
	}
}

func TestNames(t *testing.T) {
	names := testNames()
	names.Scope = v1alpha1.ScopeCluster
	names.PrinterColumns = []v1alpha1.PrinterColumn{{Name: "phase", Type: "string", JSONPath: ".spec.a"}}
	result, err := generate(inputOf(t, []byte(`#Input: {a: string}`)), names)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.CRD.Spec.Scope; got != "Cluster" {
		t.Errorf("scope %s", got)
	}
	var columns []string
	for _, c := range result.CRD.Spec.Versions[0].AdditionalPrinterColumns {
		columns = append(columns, c.Name+" "+c.JSONPath)
	}
	want := []string{"phase .spec.a", `Ready .status.conditions[?(@.type=="Ready")].status`, "Nodes .status.nodes.summary",
		`Reason .status.conditions[?(@.type=="Ready")].reason`, "Age .metadata.creationTimestamp", `Message .status.conditions[?(@.type=="Ready")].message`}
	if diff := cmp.Diff(want, columns); diff != "" {
		t.Errorf("columns (-want +got)\n%s", diff)
	}

	names.Plural = "Not A Name"
	if _, err := generate(inputOf(t, []byte(`#Input: {a: string}`)), names); err == nil {
		t.Error("a plural that no API server takes: no error")
	}
}

// manyFields is a schema of n fields of various sorts.
func manyFields(n int) []byte {
	var b strings.Builder
	b.WriteString("#Port: int & >0 & <65536\n#Input: {\n")
	for i := range n {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&b, "\t// Field %d.\n\tf%d: string & =~\"^a\"\n", i, i)
		case 1:
			fmt.Fprintf(&b, "\tf%d: *8080 | #Port\n", i)
		case 2:
			fmt.Fprintf(&b, "\tf%d?: [...{name: string, value?: int}]\n", i)
		case 3:
			fmt.Fprintf(&b, "\tf%d?: \"a\" | \"b\" | \"c\"\n", i)
		case 4:
			fmt.Fprintf(&b, "\tf%d: {on: *true | bool, level?: int & >=f%d}\n", i, i-3)
		}
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

// BenchmarkGenerate generates CRDs of schemas with the given number of fields;
// every fifth field has a rule. The variant "read" leaves out the API server's
// validation. The aim is 50 ms for 500 fields. Since times depend on the machine,
// the benchmark also reports how often CUE could compile and validate the same
// schema in that time.
func BenchmarkGenerate(b *testing.B) {
	for _, n := range []int{100, 500} {
		source := manyFields(n)
		bench := func(name string, generate func(cue.Value) error) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				var cueAlone time.Duration
				for b.Loop() {
					b.StopTimer()
					start := time.Now()
					input := inputOf(b, source)
					if err := input.Validate(); err != nil {
						b.Fatal(err)
					}
					cueAlone += time.Since(start)
					b.StartTimer()
					if err := generate(input); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed())/float64(cueAlone), "times-cue")
			})
		}
		bench("read", func(input cue.Value) error {
			in, err := read.Value(input, "#Input", "spec")
			if err == nil {
				_, err = (&version{spec: in}).write(nil)
			}
			return err
		})
		bench("whole", func(input cue.Value) error {
			_, err := generate(input, testNames())
			return err
		})
	}
}

func statusOf(module cue.Value) cue.Value { return module.LookupPath(cue.ParsePath("#Status")) }

func TestVersions(t *testing.T) {
	module, input := moduleOf([]byte("#Input: {a: int, b?: int & >=a}\n#Old: {a: string}"))
	names := testNames()
	names.Version = "v1"
	names.Versions = []v1alpha1.KindVersion{
		{Name: "v1", Served: true},
		{Name: "v1alpha1", Served: true, Deprecated: true, DeprecationWarning: "use v1"},
	}
	inputs := map[string]cue.Value{"v1": input, "v1alpha1": module.LookupPath(cue.ParsePath("#Old"))}
	result, err := Generate(inputs, cue.Value{}, names)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range result.CRD.Spec.Versions {
		got = append(got, fmt.Sprintf("%s %t %t %s", v.Name, v.Storage, v.Deprecated, v.Schema.OpenAPIV3Schema.Properties["spec"].Properties["a"].Type))
	}
	if diff := cmp.Diff([]string{"v1 true false integer", "v1alpha1 false true string"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}

	names.Versions[1].Name = "v2"
	if _, err := Generate(inputs, cue.Value{}, names); err == nil || !strings.Contains(err.Error(), "version v2") {
		t.Errorf("a version without a schema: %v", err)
	}
}

// TestMessagesOfMixedTypes checks what a user reads who gives a value of a type
// that a union excludes. No rule can be written there.
func TestMessagesOfMixedTypes(t *testing.T) {
	const source = "#Input: {m?: [string]: string | {x: int, y?: string}, n?: int | [...string], o?: {x?: int} | bool}"
	result, err := generate(inputOf(t, []byte(source)), testNames())
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, result.CRD)
	for doc, want := range map[string]string{
		`{m: {k: 5}}`:              `Unsupported value: 5: supported values: "any string", "an object"`,
		`{n: {x: 1}}`:              `supported values: "any integer", "a list"`,
		`{n: "a list"}`:            `must not validate the schema (not)`,
		`{o: 5}`:                   `supported values: "true or false", "an object"`,
		`{m: {k: any, l: {x: 1}}}`: "",
		`{n: [a], o: true}`:        "",
	} {
		switch _, err := s.create([]byte(doc)); {
		case want == "" && err != nil, want != "" && err == nil:
			t.Errorf("%s: %v", doc, err)
		case want != "" && !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v; want %s", doc, err, want)
		}
	}
}
