package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/crd"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/operator/worker"
	"github.com/pequod-io/pequod/operator/worker/child"
	"github.com/pequod-io/pequod/render"
)

// TestMain is the child process if the first argument says so, as in the manager.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if run := children[os.Args[1]]; run != nil {
			os.Exit(run())
		}
	}
	os.Exit(m.Run())
}

// children are the programs of child processes: the real one, and some with mistakes.
var children = map[string]func() int{
	"worker": func() int { return child.Serve(os.Stdin, os.Stdout) },
}

// newPool returns a pool whose processes run one of children.
func newPool(t *testing.T, program string, o worker.Options) *worker.Pool {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Command = []string{executable, program}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	p, err := worker.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// sources returns the encoded sources of a Transform, and their key.
func sources(t *testing.T, name string, spec v1alpha1.TransformSpec) (worker.Key, []byte) {
	t.Helper()
	return encode(name, spec)
}

func encode(name string, spec v1alpha1.TransformSpec) (worker.Key, []byte) {
	opened, err := transform.Open(context.Background(), &modules.Opener{}, name, spec, func(string) modules.Place { return modules.Place{} })
	if err != nil {
		panic(err)
	}
	data, err := opened.Encode()
	if err != nil {
		panic(err)
	}
	return worker.Key{Transform: types.NamespacedName{Namespace: "pequod-system", Name: name}, Digest: transform.Digest(data)}, data
}

func embedded(name string) v1alpha1.TransformSpec {
	return v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}}
}

// load loads a platform.
func load(t *testing.T, p *worker.Pool, name string, spec v1alpha1.TransformSpec) (worker.Key, *worker.Loaded) {
	t.Helper()
	key, data := sources(t, name, spec)
	loaded, err := p.Load(t.Context(), key, data)
	if err != nil {
		t.Fatal(err)
	}
	return key, loaded
}

// platformOf returns the platform of an embedded module, loaded in this process.
func platformOf(t *testing.T, name string) *render.Platform {
	t.Helper()
	files, err := modules.Open(t.Context(), embedded(name).CueRef, modules.Place{}, modules.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := render.Load(render.Source{FS: files.FS, Dir: files.Dir, Show: files.Show, Ref: files.Ref})
	if err != nil {
		t.Fatal(err)
	}
	p, err := render.NewPlatform(name, embedded(name), m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEmbedded compares the CRDs and graphs of the embedded modules with those of the command
// line, which calls the same functions in its own process.
func TestEmbedded(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute})
	for _, name := range modules.Embedded() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			platform := platformOf(t, name)
			key, loaded := load(t, pool, name, embedded(name))
			made, err := crd.Generate(platform)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(must(crdgen.Marshal(made.CRD))(t)), string(must(crdgen.Marshal(loaded.CRD))(t))); diff != "" {
				t.Errorf("CRD:\n%s", diff)
			}
			if diff := cmp.Diff(platform.Names, loaded.Names); diff != "" {
				t.Errorf("names:\n%s", diff)
			}
			if want := (worker.Content{Digest: platform.Module.Digest}); loaded.Module != want {
				t.Errorf("module: got %v, want %v", loaded.Module, want)
			}
			_, data := sources(t, name, embedded(name))
			if samples, err := pool.Sample(t.Context(), key, data); err != nil || len(samples) == 0 {
				t.Errorf("%d samples, %v", len(samples), err)
			}
			files := must(modules.EmbeddedSource(name))(t)
			rendered := 0
			for _, file := range must(fs.Glob(files, "tests/*/instance.yaml"))(t) {
				for in, problems := range render.Instances(file, must(fs.ReadFile(files, file))(t)) {
					if in != nil && len(problems) == 0 {
						compare(t, pool, key, platform, in, must(fs.ReadFile(files, file))(t))
						rendered++
					}
					break // each file has more instances of the same kind; the first is enough
				}
			}
			if rendered < 3 {
				t.Errorf("%d instances were rendered", rendered)
			}
		})
	}
}

// TestStatusFields describes the fields of #Status, which the manager writes.
func TestStatusFields(t *testing.T) {
	pool := newPool(t, "worker", worker.Options{Timeout: time.Minute})
	_, loaded := load(t, pool, "app", v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefInline, Ref: `package app
#Platform: kind: "App"
#Input: {}
#Status: {url?: string, count: int}
#Render: {input: {metadata: {name: string, namespace: string}, spec: #Input}, output: nodes: {}}
`}})
	if diff := cmp.Diff([]string{"count", "url"}, loaded.StatusFields); diff != "" {
		t.Error(diff)
	}
}

// compare renders an instance in both ways: from its file, and from the object that the API
// server makes of it.
func compare(t *testing.T, pool *worker.Pool, key worker.Key, platform *render.Platform, in *render.Instance, file []byte) {
	t.Helper()
	problems := in.SetNamespaces(platform, "default")
	result := (&render.Renderer{}).Render(in, platform)
	problems = append(problems, result.Problems...)

	first, _, _ := bytes.Cut(file, []byte("\n---\n"))
	object := &unstructured.Unstructured{}
	data := must(yaml.YAMLToJSON(first))(t)
	if err := object.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	object.SetUID("4b3c")
	object.SetResourceVersion("17")
	object.SetGeneration(3)
	object.SetFinalizers([]string{"example.com/keep"})
	object.Object["status"] = map[string]any{"phase": "Ready", "unknown": []any{1.5}}
	got, err := pool.Render(t.Context(), key, object, "default")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(messages(problems), messages(got.Problems)); diff != "" {
		t.Errorf("%s: problems:\n%s", in.File, diff)
	}
	want := result.Graph
	if problems.Failed() {
		want = nil
	}
	if diff := cmp.Diff(string(must(json.Marshal(want))(t)), string(must(json.Marshal(got.Graph))(t))); diff != "" {
		t.Errorf("%s: graph:\n%s", path.Dir(in.File), diff)
	}
}

// messages returns problems without their positions.
func messages(problems problem.List) map[string]bool {
	all := map[string]bool{}
	for _, p := range problems {
		all[p.Severity.String()+" "+p.Path+": "+p.Message] = true
	}
	return all
}

// must returns a value, or ends the test on an error.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
