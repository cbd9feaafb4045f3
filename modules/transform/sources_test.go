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
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/crdgen"
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
