package transform_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"cuelang.org/go/mod/module"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/inline"
	"github.com/pequod-io/pequod/modules/modpath"
	"github.com/pequod-io/pequod/modules/transform"
	"github.com/pequod-io/pequod/render"
)

// everything are modules that use all ways to find a file.
const everything = `
-- shop/cue.mod/module.cue --
module: "example.com/shop@v0"
language: version: "v0.17.0"
deps: {
	"example.com/k8s@v1": v: "v1.2.0"
	"example.com/k8s/apps@v0": v: "v0.1.0"
	"example.com/beside@v0": v: "v0.3.0"
}
-- shop/cue.mod/local-module.cue --
deps: {
	"example.com/k8s@v1": v: "v1.2.0"
	"example.com/k8s/apps@v0": v: "v0.1.0"
	"example.com/beside@v0": replaceWith: "../beside"
}
-- shop/cue.mod/pkg/vendor.example/p/p.cue --
package p
import "vendor.example/q"
port: q.port
-- shop/cue.mod/usr/vendor.example/p/more.cue --
package p
name: "vendored"
-- shop/cue.mod/gen/vendor.example/q/q.cue --
package q
port: int | *80
-- shop/cue.mod/gen/vendor.example/unused/u.cue --
package unused
-- shop/README.md --
not needed
-- shop/parent.cue --
package web
// This file of a directory above belongs to the package.
_suffix: "-x"
-- shop/other.cue --
package other
import "example.com/none"
-- shop/unrelated/x.cue --
package unrelated
-- shop/lib/lib.cue --
package lib
#Image: =~":"
-- shop/web/web.cue --
@extern(embed)
package web
import (
	"strings"
	"example.com/shop/lib"
	"example.com/k8s/core"
	"example.com/k8s/apps/types:apps"
	"example.com/beside"
	"vendor.example/p"
)
_settings: _ @embed(file="data/settings.json")
_texts: _ @embed(glob="data/*.txt", type=text)
#Platform: kind: "Shop"
#Input: {
	image: lib.#Image
	port:  int & >0 | *p.port
}
#Render: {
	input: metadata: {name: string, namespace: string}
	input: spec: #Input
	output: nodes: web: resource: core.#ConfigMap & {
		metadata: name: strings.ToLower(input.metadata.name) + _suffix
		data: {
			image: input.spec.image, port: "\(input.spec.port)", color: _settings.color, text: _texts["data/a.txt"]
			other: apps.name + beside.name + p.name
		}
	}
}
-- shop/web/data/settings.json --
{"color": "red"}
-- shop/web/data/a.txt --
text
-- shop/web/data/unused.json --
{}
-- beside/cue.mod/module.cue --
module: "example.com/beside@v0"
language: version: "v0.17.0"
-- beside/b.cue --
package beside
name: "beside"
-- policy/p.cue --
package policy
#Policy: {
	input:  _
	nodes?: _
	if input.spec.port == 666 {
		violations: [{message: "port 666 is not allowed", path: "spec.port"}]
	}
}
`

// published are the modules of a registry.
type published map[string]fstest.MapFS

func (p published) Open(_ context.Context, v module.Version) (*modpath.Module, error) {
	files, ok := p[v.String()]
	if !ok {
		return nil, fmt.Errorf("no module %s", v)
	}
	return &modpath.Module{Files: files, Digest: "sha256:0"}, nil
}

func (p published) Latest(context.Context, string) (module.Version, error) {
	return module.Version{}, errors.New("not used")
}

var registry = published{
	"example.com/k8s@v1.2.0": {
		"cue.mod/module.cue": {Data: []byte("module: \"example.com/k8s@v1\"\nlanguage: version: \"v0.17.0\"")},
		"core/core.cue":      {Data: []byte("package core\n#ConfigMap: {apiVersion: \"v1\", kind: \"ConfigMap\", metadata: name: string, data: [string]: string}")},
		"unused/u.cue":       {Data: []byte("package unused")},
	},
	"example.com/k8s/apps@v0.1.0": {
		"cue.mod/module.cue": {Data: []byte("module: \"example.com/k8s/apps@v0\"\nlanguage: version: \"v0.17.0\"")},
		"types/apps.cue":     {Data: []byte("package apps\nname: \"apps\"")},
	},
}

// write writes the files of an archive below a new directory.
func write(t *testing.T, archive string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		name := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// behaviour has the observable properties of a platform.
type behaviour struct {
	Names     v1alpha1.Names
	Digest    string
	From      string
	CRD       string
	Files     []string
	Graphs    []string
	Problems  []string
	LoadError string
}

// observe loads sources, and renders instances that are documents of YAML.
func observe(t *testing.T, s *transform.Sources, instances string) behaviour {
	t.Helper()
	p, err := s.Load()
	if err != nil {
		return behaviour{LoadError: err.Error()}
	}
	b := behaviour{Names: p.Names, Digest: p.Module.Digest, From: p.From}
	inputs, status := p.Schemas()
	result, err := crdgen.Generate(inputs, status, p.Names)
	if err != nil {
		t.Fatal(err)
	}
	data, err := crdgen.Marshal(result.CRD)
	if err != nil {
		t.Fatal(err)
	}
	b.CRD = string(data)
	for _, f := range p.Subject().Files() {
		for _, d := range f.Decls {
			b.Files = append(b.Files, d.Pos().String())
		}
	}
	slices.Sort(b.Files)
	var r render.Renderer
	for in, problems := range render.Instances("instance.yaml", []byte(instances)) {
		if in == nil {
			t.Fatal(problems)
		}
		in.SetNamespaces(p, "default")
		res := r.Render(in, p)
		for _, problem := range res.Problems {
			b.Problems = append(b.Problems, problem.String())
		}
		data, err := json.Marshal(res.Graph)
		if err != nil {
			t.Fatal(err)
		}
		b.Graphs = append(b.Graphs, string(data))
	}
	return b
}

// encoded returns the sources that other sources become in another process, and their bytes.
func encoded(t *testing.T, s *transform.Sources) (*transform.Sources, []byte) {
	t.Helper()
	data, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := transform.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	// Bytes that depended on anything else would not be those of the files alone.
	again, err := decoded.Encode()
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("encoded again: %d bytes, not the same %d, %v", len(again), len(data), err)
	}
	return decoded, data
}

// entries returns the names of the files of encoded sources.
func entries(t *testing.T, data []byte) []string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	return names
}

// TestEmbeddedModules encodes all modules of the program, and renders their cases.
func TestEmbeddedModules(t *testing.T) {
	for _, name := range modules.Embedded() {
		t.Run(name, func(t *testing.T) {
			spec := v1alpha1.TransformSpec{CueRef: v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: name}}
			s, err := transform.Open(t.Context(), &modules.Opener{}, "", spec, func(string) modules.Place { return modules.Place{} })
			if err != nil {
				t.Fatal(err)
			}
			cases, err := filepath.Glob("../platform/" + name + "/tests/*/instance.yaml")
			if err != nil || len(cases) < 6 {
				t.Fatalf("%d cases, %v", len(cases), err)
			}
			var instances []string
			for _, c := range cases {
				data, err := os.ReadFile(c)
				if err != nil {
					t.Fatal(err)
				}
				instances = append(instances, string(data))
			}
			all := strings.Join(instances, "\n---\n")
			want := observe(t, s, all)
			decoded, _ := encoded(t, s)
			if diff := cmp.Diff(want, observe(t, decoded, all)); diff != "" {
				t.Errorf("decoded sources (-before +after)\n%s", diff)
			}
			if len(want.Problems) == 0 || want.LoadError != "" {
				t.Errorf("nothing was compared: %v", want)
			}
		})
	}
}

// sourcesOfAll opens the module shop/web below a directory with two policies. One of them
// is inline.
func sourcesOfAll(t *testing.T, dir string, change func(*v1alpha1.TransformSpec)) *transform.Sources {
	t.Helper()
	spec := v1alpha1.TransformSpec{
		CueRef:             v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: "shop/web"},
		ShortNames:         []string{},
		ServiceAccountName: "shop",
		Policies: []v1alpha1.CueRef{
			{Type: v1alpha1.CueRefPath, Ref: "policy"},
			{Type: v1alpha1.CueRefInline, Ref: "package inlined\n#Policy: {\n\tinput: _\n\tnodes?: _\n\tviolations: [if input.spec.port > 100 {message: \"port\", path: 1}]\n}\n"},
		},
	}
	if change != nil {
		change(&spec)
	}
	place := func(path string) modules.Place {
		at := modules.Place{BaseDir: dir}
		if path == transform.PolicyPath(1) {
			at.Inline = &inline.Origin{Name: "shop.yaml: spec.policies[1].ref", Block: func(string) (yamlfile.Block, bool) {
				return yamlfile.Block{File: "shop.yaml", Line: 12, Indent: 6}, true
			}}
		}
		return at
	}
	s, err := transform.Open(t.Context(), &modules.Opener{Options: modules.Options{Published: registry}}, "store", spec, place)
	if err != nil {
		t.Fatal(err)
	}
	s.From = "shop.yaml"
	return s
}

const shops = `
apiVersion: pequod.io/v1alpha1
kind: Shop
metadata: {name: good}
spec: {image: "a:1"}
---
apiVersion: pequod.io/v1alpha1
kind: Shop
metadata: {name: bad}
spec: {image: none, port: -1}
---
apiVersion: pequod.io/v1alpha1
kind: Shop
metadata: {name: refused}
spec: {image: "a:1", port: 666}
`

// TestEverything encodes a module that imports packages in all ways, with policies. The
// decoded sources must behave the same after all files are gone.
func TestEverything(t *testing.T) {
	dir := write(t, everything)
	s := sourcesOfAll(t, dir, nil)
	want := observe(t, s, shops)
	if want.LoadError != "" || !strings.Contains(want.Graphs[0], "appsbesidevendored") || !strings.Contains(want.Graphs[0], `"color":"red"`) {
		t.Fatalf("the module does not work: %s\n%s\n%s", want.LoadError, want.Graphs, want.Problems)
	}
	if text := strings.Join(want.Problems, "\n"); !strings.Contains(text, "port 666 is not allowed") || !strings.Contains(text, "shop.yaml:16:") {
		t.Fatalf("the policies do not work:\n%s", text)
	}
	decoded, data := encoded(t, s)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, observe(t, decoded, shops)); diff != "" {
		t.Errorf("decoded sources (-before +after)\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"sources.json",
		"0/cue.mod/gen/vendor.example/q/q.cue", "0/cue.mod/local-module.cue", "0/cue.mod/module.cue", "0/cue.mod/pkg/vendor.example/p/p.cue",
		"0/cue.mod/usr/vendor.example/p/more.cue", "0/lib/lib.cue", "0/other.cue", "0/parent.cue",
		"0/web/data/a.txt", "0/web/data/settings.json", "0/web/web.cue",
		"1/b.cue", "1/cue.mod/module.cue",
		"2/cue.mod/module.cue", "2/types/apps.cue",
		"3/core/core.cue", "3/cue.mod/module.cue",
		"4/p.cue", "5/main.cue",
	}, entries(t, data)); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
}

// TestBytes checks which changes change the bytes of sources: those that Load can notice.
func TestBytes(t *testing.T) {
	dir := write(t, everything)
	encode := func(change func(*v1alpha1.TransformSpec)) string {
		data, err := sourcesOfAll(t, dir, change).Encode()
		if err != nil {
			t.Fatal(err)
		}
		return transform.Digest(data)
	}
	before := encode(nil)
	if after := encode(func(s *v1alpha1.TransformSpec) { s.CueRef.Path = "." }); after != before {
		t.Error("another spelling of the reference changed the bytes")
	}
	for name, change := range map[string]func(*v1alpha1.TransformSpec){
		"no short names":  func(s *v1alpha1.TransformSpec) { s.ShortNames = nil },
		"account":         func(s *v1alpha1.TransformSpec) { s.ServiceAccountName = "other" },
		"deletion policy": func(s *v1alpha1.TransformSpec) { s.GraphDeletionPolicy = v1alpha1.DeletionOrphan },
		"digest":          func(s *v1alpha1.TransformSpec) { s.CueRef.Digest = "sha256:" + strings.Repeat("0", 64) },
		"policy":          func(s *v1alpha1.TransformSpec) { s.Policies = s.Policies[:1] },
	} {
		if encode(change) == before {
			t.Errorf("%s: the same bytes", name)
		}
	}
	for name, changes := range map[string]bool{
		"shop/README.md": false, "shop/unrelated/x.cue": false, "shop/web/data/unused.json": false,
		"shop/web/data/a.txt": true, "shop/lib/lib.cue": true, "beside/b.cue": true, "policy/p.cue": true,
	} {
		now := encode(nil)
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("\n"); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if changed := encode(nil) != now; changed != changes {
			t.Errorf("a change of %s changed the bytes: %v, want %v", name, changed, changes)
		}
	}
}

// TestSameErrors checks that sources which can't be loaded have the same errors after Decode.
func TestSameErrors(t *testing.T) {
	for name, files := range map[string]string{
		"syntax":            "-- shop/web/web.cue --\npackage web\nx: {\n",
		"other package":     "-- shop/web/more.cue --\npackage more\n",
		"missing import":    "-- shop/web/web.cue --\npackage web\nimport \"example.com/shop/none\"\nx: none.x\n",
		"listed import":     "-- shop/web/web.cue --\npackage web\nimport \"example.com/k8s/none\"\nx: none.x\n",
		"nested module":     "-- shop/lib/cue.mod/module.cue --\nmodule: \"example.com/lib@v0\"\n",
		"nested directory":  "-- shop/web/data/cue.mod/module.cue --\nmodule: \"example.com/lib@v0\"\n",
		"directory":         "-- shop/web/web.cue --\n@extern(embed)\npackage web\nx: _ @embed(glob=\"*\",type=json)\n",
		"no embedded file":  "-- shop/web/web.cue --\n@extern(embed)\npackage web\nx: _ @embed(file=\"none.json\")\n",
		"too large":         "-- shop/web/large.cue --\npackage web\n" + strings.Repeat("//\n", 3<<20),
		"embedded, large":   "-- shop/web/data/settings.json --\n" + strings.Repeat(" ", 9<<20),
		"empty":             "-- shop/web/web.cue --\n\n",
		"another directory": "-- shop/cue.mod/module.cue --\nmodule: 1\n",
		"not UTF-8":         "-- shop/web/web.cue --\npackage web\n// \xff\n",
		"incomplete":        "-- shop/web/web.cue --\npackage web\n#Input: {}\n",
		"policy":            "-- policy/p.cue --\npackage policy\nx: 1 & 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := sourcesOfAll(t, write(t, everything+files), nil)
			want := observe(t, s, shops)
			if want.LoadError == "" {
				t.Fatal("the module is loaded")
			}
			decoded, _ := encoded(t, s)
			if diff := cmp.Diff(want, observe(t, decoded, shops)); diff != "" {
				t.Errorf("decoded sources (-before +after)\n%s", diff)
			}
		})
	}
}

// TestProblems checks where the problems of values in the spec are.
func TestProblems(t *testing.T) {
	dir := write(t, everything)
	for _, test := range []struct {
		change func(*v1alpha1.TransformSpec)
		want   problem.Problem
	}{
		{func(s *v1alpha1.TransformSpec) { s.Kind = "a b" }, problem.Problem{Path: "spec.kind", Rule: problem.RulePlatform}},
		{func(s *v1alpha1.TransformSpec) { s.Policies[0].Digest = "sha256:0" }, problem.Problem{Path: "spec.policies[0].digest", Rule: problem.RuleDigest}},
		{func(s *v1alpha1.TransformSpec) { s.CueRef.Digest = "sha256:0" }, problem.Problem{Path: "spec.cueRef.digest", Rule: problem.RuleDigest}},
	} {
		_, err := sourcesOfAll(t, dir, test.change).Load()
		var problems problem.List
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("%s: %v", test.want.Path, err)
		}
		got := problems[0]
		if got.Path != test.want.Path || got.Rule != test.want.Rule || got.Position != (problem.Position{File: "shop.yaml"}) {
			t.Errorf("%+v, want %+v", got, test.want)
		}
	}
}

// TestLeftOut checks that policies which the opener leaves out are no error.
func TestLeftOut(t *testing.T) {
	embedded := v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "backup"}
	left := v1alpha1.CueRef{Type: v1alpha1.CueRefEmbedded, Ref: "left"}
	opener := &modules.Opener{Instead: func(ref v1alpha1.CueRef) (v1alpha1.CueRef, error) {
		if ref.Ref == left.Ref {
			return ref, fmt.Errorf("x: %w", transform.ErrLeftOut)
		}
		return ref, nil
	}}
	none := func(string) modules.Place { return modules.Place{} }
	s, err := transform.Open(t.Context(), opener, "x", v1alpha1.TransformSpec{CueRef: embedded, Policies: []v1alpha1.CueRef{left, embedded}}, none)
	if err != nil || len(s.Policies) != 1 || s.Policies[0].Path != "spec.policies[1]" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := transform.Open(t.Context(), opener, "x", v1alpha1.TransformSpec{CueRef: left}, none); !errors.Is(err, transform.ErrLeftOut) {
		t.Errorf("module: %v", err)
	}
}

// TestPanic checks that a panic while a module is opened is an error about its reference.
func TestPanic(t *testing.T) {
	opener := &modules.Opener{Instead: func(v1alpha1.CueRef) (v1alpha1.CueRef, error) { panic("broken") }}
	_, err := transform.Open(t.Context(), opener, "x", v1alpha1.TransformSpec{}, func(string) modules.Place { return modules.Place{} })
	if err == nil || err.Error() != "spec.cueRef: opening the module: panic: broken" {
		t.Errorf("%v", err)
	}
}
