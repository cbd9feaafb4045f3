package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"cuelang.org/go/cue/cuecontext"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// rendering is a module in the repository and the instances for it.
type rendering struct {
	transform, root, dir, instances string
}

var renderings = []rendering{
	{"webservice", "modules/platform/webservice", ".", "testdata/demo/app.yaml"},
	{"webservice", "testdata/legacy/webservice", ".", "testdata/legacy/instances/webservice.yaml"},
	{"queue", "testdata/legacy/mono", "platforms/queue", "testdata/legacy/instances/queue.yaml"},
}

// graphs renders the documents of a file, each changed by a function first. repo is
// the path of the repository.
func graphs(t *testing.T, repo string, r rendering, change func(*testing.T, *yaml.Node) []byte) []string {
	t.Helper()
	m, err := Load(Source{FS: os.DirFS(filepath.Join(repo, r.root)), Dir: r.dir, Ref: "module"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlatform(r.transform, v1alpha1.TransformSpec{}, m)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(repo, r.instances))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	renderer := &Renderer{}
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for in, ps := range Instances("app.yaml", change(t, &n)) {
			if ps.Failed() {
				t.Fatal(ps)
			}
			in.SetNamespaces(p, "default")
			res := renderer.Render(in, p)
			if res.Graph == nil {
				t.Fatal(res.Problems)
			}
			b, err := json.MarshalIndent(res.Graph, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(b))
		}
	}
	if len(all) == 0 {
		t.Fatal("nothing was rendered")
	}
	return all
}

func unchanged(t *testing.T, n *yaml.Node) []byte {
	t.Helper()
	b, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// backwards returns a document with the keys of every mapping in reverse order.
func backwards(t *testing.T, n *yaml.Node) []byte {
	t.Helper()
	var turn func(n *yaml.Node)
	turn = func(n *yaml.Node) {
		if n.Kind == yaml.MappingNode {
			slices.Reverse(n.Content)
			for i := 0; i+1 < len(n.Content); i += 2 {
				n.Content[i], n.Content[i+1] = n.Content[i+1], n.Content[i]
			}
		}
		for _, c := range n.Content {
			turn(c)
		}
	}
	turn(n)
	return unchanged(t, n)
}

func asJSON(t *testing.T, n *yaml.Node) []byte {
	t.Helper()
	docs, err := yamlfile.Parse("app.yaml", unchanged(t, n))
	if err != nil || len(docs) != 1 {
		t.Fatal(docs, err)
	}
	e, _ := docs[0].Syntax()
	b, err := cuecontext.New().BuildExpr(e).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRenderingIsAFunction checks that rendering depends on the module's files and
// the instance's data alone.
func TestRenderingIsAFunction(t *testing.T) {
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range renderings {
		t.Run(r.root, func(t *testing.T) {
			want := graphs(t, repo, r, unchanged)
			same := func(how string, got []string) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: differs (-first +now):\n%s", how, diff)
				}
			}
			same("a second time", graphs(t, repo, r, unchanged))
			same("with the keys in another order", graphs(t, repo, r, backwards))
			same("as JSON", graphs(t, repo, r, asJSON))
			procs := runtime.GOMAXPROCS(1)
			same("with one processor", graphs(t, repo, r, unchanged))
			runtime.GOMAXPROCS(procs)
			for _, variable := range append(os.Environ(), "HOME=", "LANG=", "TZ=") {
				if name, _, _ := strings.Cut(variable, "="); name != "TMPDIR" { // it is for the directories below
					t.Setenv(name, "other")
				}
			}
			same("in another environment", graphs(t, repo, r, unchanged))
			t.Chdir(t.TempDir())
			same("from another directory", graphs(t, repo, r, unchanged))
			elsewhere := t.TempDir()
			for _, dir := range []string{r.root, filepath.Dir(r.instances)} {
				if err := os.CopyFS(filepath.Join(elsewhere, dir), os.DirFS(filepath.Join(repo, dir))); err != nil {
					t.Fatal(err)
				}
			}
			same("from a copy", graphs(t, elsewhere, r, unchanged))
		})
	}
}

// TestRenderingKeepsNothing checks that a Renderer returns the same results whatever
// it rendered before.
func TestRenderingKeepsNothing(t *testing.T) {
	for _, c := range scripts(t) {
		t.Run(c.name, func(t *testing.T) {
			used := &Renderer{}
			for range 3 {
				for _, in := range c.docs {
					fresh := (&Renderer{}).Render(in, c.p)
					again := used.Render(in, c.p)
					if diff := cmp.Diff(fresh.Problems, again.Problems); diff != "" {
						t.Errorf("%s: differs (-fresh +used):\n%s", in, diff)
					}
					if diff := cmp.Diff(fresh.Graph, again.Graph); diff != "" {
						t.Errorf("%s: differs (-fresh +used):\n%s", in, diff)
					}
				}
			}
		})
	}
}
