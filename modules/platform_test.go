package modules_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

var update = flag.Bool("update", false, "rewrite the goldens")

// dirs returns the directories of the tested modules: the embedded ones and the
// examples.
func dirs(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"platform/*", "../examples/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d modules, %v", pattern, len(found), err)
		}
		all = append(all, found...)
	}
	return all
}

// platform loads a module. An empty name means the name of its directory.
func platform(t *testing.T, ref v1alpha1.CueRef, base, name string, spec v1alpha1.TransformSpec) *render.Platform {
	t.Helper()
	files, err := modules.Open(t.Context(), ref, modules.Place{BaseDir: base}, modules.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := render.Load(render.Source{FS: files.FS, Dir: files.Dir, Show: files.Show, Ref: files.Ref})
	if err != nil {
		t.Fatal(err)
	}
	if name == "" {
		name = files.Name
	}
	p, err := render.NewPlatform(name, spec, m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func moduleIn(t *testing.T, dir string) *render.Platform {
	t.Helper()
	return platform(t, v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: dir}, "", "", v1alpha1.TransformSpec{})
}

// rendered renders every instance of a file.
func rendered(t *testing.T, file string, find func(*render.Instance) *render.Platform) []render.Result {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var results []render.Result
	var r render.Renderer
	for in, problems := range render.Instances(filepath.Base(file), data) {
		if in == nil {
			t.Fatalf("%s: %v", file, problems)
		}
		p := find(in)
		if in.Kind != p.Kind || in.APIVersion != p.Group+"/"+p.Version {
			t.Fatalf("%s: %s %s isn't of %s", file, in.APIVersion, in.Kind, p.GroupKind())
		}
		if ps := in.SetNamespaces(p, "default"); len(ps) > 0 {
			t.Fatalf("%s: %v", file, ps)
		}
		results = append(results, r.Render(in, p))
	}
	return results
}

// TestCases renders the cases of every module: tests/NAME/instance.yaml becomes
// tests/NAME/graph.yaml, or is refused as tests/NAME/error.txt says. The module's
// digest isn't part of a golden graph, nor the place of a rule of one of an
// error: both change with every edit of the module.
func TestCases(t *testing.T) {
	for _, dir := range dirs(t) {
		p := moduleIn(t, dir)
		cases, err := filepath.Glob(filepath.Join(dir, "tests", "*"))
		if err != nil || len(cases) < 6 {
			t.Fatalf("%s: %d cases, %v", dir, len(cases), err)
		}
		failing := 0
		for _, c := range cases {
			t.Run(filepath.Base(dir)+"/"+filepath.Base(c), func(t *testing.T) {
				results := rendered(t, filepath.Join(c, "instance.yaml"), func(*render.Instance) *render.Platform { return p })
				if len(results) != 1 {
					t.Fatalf("%d instances", len(results))
				}
				res := results[0]
				var lines string
				for _, q := range res.Problems {
					q.Related = problem.Position{}
					// As pequod module test names files: from the case.
					q.Position.File = strings.Replace(q.Position.File, filepath.ToSlash(dir)+"/", "../../", 1)
					lines += q.String() + "\n"
				}
				if res.Graph == nil {
					failing++
					compare(t, filepath.Join(c, "error.txt"), lines)
					absent(t, filepath.Join(c, "graph.yaml"))
					return
				}
				res.Graph.Spec.PlatformRef.Digest = ""
				data, err := yaml.Marshal(res.Graph)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, filepath.Join(c, "graph.yaml"), string(data))
				absent(t, filepath.Join(c, "error.txt"))
			})
		}
		if failing == 0 {
			t.Errorf("%s: no case is refused", dir)
		}
	}
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, rewrite with -update)\n%s", golden, diff)
	}
}

// absent fails where a case has both goldens.
func absent(t *testing.T, golden string) {
	t.Helper()
	if *update {
		if err := os.Remove(golden); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return
	}
	if _, err := os.Stat(golden); err == nil {
		t.Errorf("%s is there, and the case did the opposite", golden)
	}
}

// TestNames checks that the name of every embedded module is its kind in lower case,
// and that only CUE files are embedded.
func TestNames(t *testing.T) {
	for _, name := range modules.Embedded() {
		ref := v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}
		if p := platform(t, ref, "", "", v1alpha1.TransformSpec{}); strings.ToLower(p.Kind) != name {
			t.Errorf("embedded:%s has kind %s", name, p.Kind)
		}
		files, err := modules.Open(t.Context(), ref, modules.Place{}, modules.Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = fs.WalkDir(files.FS, ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) != ".cue" {
				t.Errorf("embedded:%s ships %s", name, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCRDs generates the CRD of every module. The CRD must pass the API server's
// validation, enforce the whole schema, and have a description for every field.
func TestCRDs(t *testing.T) {
	for _, dir := range dirs(t) {
		p := moduleIn(t, dir)
		inputs, status := p.Schemas()
		result, err := crdgen.Generate(inputs, status, p.Names)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range result.Notes {
			t.Errorf("%s: %v: %s: %s", dir, n.Position, n.Path, n.Message)
		}
		data, err := crdgen.Marshal(result.CRD)
		if err != nil {
			t.Fatal(err)
		}
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct {
						OpenAPIV3Schema schema `json:"openAPIV3Schema"`
					} `json:"schema"`
				} `json:"versions"`
			} `json:"spec"`
		}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			t.Fatal(err)
		}
		for _, path := range undocumented(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"], "spec") {
			t.Errorf("%s: %s has no description", dir, path)
		}
	}
}

type schema struct {
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Values      *schema           `json:"additionalProperties"`
}

func undocumented(s schema, path string) []string {
	var found []string
	for name, p := range s.Properties {
		at := path + "." + name
		if p.Description == "" {
			found = append(found, at)
		}
		found = append(found, undocumented(p, at)...)
	}
	for suffix, p := range map[string]*schema{"[]": s.Items, ".*": s.Values} {
		if p != nil {
			found = append(found, undocumented(*p, path+suffix)...)
		}
	}
	slices.Sort(found)
	return found
}
