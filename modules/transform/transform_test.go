package transform_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/transform"
)

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
