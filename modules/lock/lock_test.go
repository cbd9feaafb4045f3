package lock

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/internal/problem"
)

const (
	digestA  = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB  = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	commitA  = "1111111111111111111111111111111111111111"
	contentA = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// text is a lock in its written form.
const text = `# Written by 'pequod module lock'. Commit it, and do not edit it.
version: 1
modules:
- path: example.com/k8s@v1
  version: v1.2.0
  digest: ` + digestA + `
  content: ` + contentA + `
- path: example.com/web@v1
  ref: oci-layout:it's here/[1]
  digest: ` + digestA + `
  content: ` + contentA + `
- path: example.com/web@v1
  version: v1.4.0
  ref: oci://ghcr.io/acme/web:v1.4.0
  digest: ` + digestB + `
  content: ` + contentA + `
- version: release/1
  ref: 'git::https://git.example.com/web.git//shop?ref=release/1'
  commit: '` + commitA + `'
  content: ` + contentA + `
`

func TestRoundTrip(t *testing.T) {
	written := strings.Replace(text, "oci-layout:it's here/[1]", "'oci-layout:it''s here/[1]'", 1)
	f, err := Read("pequod.lock", []byte(written))
	if err != nil {
		t.Fatal(err)
	}
	reversed := &File{[]Module{f.Modules[3], f.Modules[2], f.Modules[1], f.Modules[0]}}
	for _, f := range []*File{f, reversed} {
		if diff := cmp.Diff(written, string(f.Bytes())); diff != "" {
			t.Errorf("the written form differs:\n%s", diff)
		}
	}
	if m, ok := f.Root("oci://ghcr.io/acme/web:v1.4.0"); !ok || m.Digest != digestB {
		t.Errorf("Root() = %v, %v", m, ok)
	}
	if m, ok := f.Root(""); ok {
		t.Errorf(`Root("") = %v`, m)
	}
	if m, ok := f.Import("example.com/k8s@v1", "v1.2.0"); !ok || m.Digest != digestA {
		t.Errorf("Import() = %v, %v", m, ok)
	}
	if m, ok := f.Import("example.com/k8s@v1", "v1.3.0"); ok {
		t.Errorf("Import() of another version = %v", m)
	}
	empty := &File{}
	if f, err := Read("pequod.lock", empty.Bytes()); err != nil || len(f.Modules) != 0 {
		t.Errorf("an empty file: %v, %v", f, err)
	}
}

func TestReadProblems(t *testing.T) {
	replace := func(old, new string) string {
		s := strings.Replace(text, "it's here/[1]", "x", 1)
		if !strings.Contains(s, old) {
			t.Fatalf("no %q", old)
		}
		return strings.Replace(s, old, new, 1)
	}
	hint := "; write it again with 'pequod module lock'"
	for name, test := range map[string]struct{ data, want string }{
		"conflict": {
			replace("  digest: "+digestB, "<<<<<<< HEAD\n  digest: "+digestA+"\n=======\n  digest: "+digestB+"\n>>>>>>> main"),
			"pequod.lock:15:1: a merge conflict; take one side and write it again with 'pequod module lock'",
		},
		"unknown field": {replace("  content", "  license: x\n  content"), "pequod.lock:7:3: license: unknown field"},
		"unknown top":   {text[:strings.Index(text, "modules")] + "x: 1\n", "pequod.lock:3:1: x: unknown field"},
		"digest":        {replace(digestB, "sha256:b"), `pequod.lock:15:11: modules[2].digest: "sha256:b" is not sha256: and 64 hex digits` + hint},
		"content":       {replace(contentA, "x"), `pequod.lock:7:12: modules[0].content: "x" is not h1: and a hash in base64` + hint},
		"path":          {replace("example.com/k8s@v1", "k8s"), `pequod.lock:4:9: modules[0].path: "k8s" is not the path of a module with its major version` + hint},
		"version":       {replace("v1.2.0", "v2.0.0"), `pequod.lock:5:12: modules[0].version: "v2.0.0" is not a version of example.com/k8s@v1` + hint},
		"no version":    {replace("  version: v1.2.0\n", ""), "pequod.lock:4:3: modules[0].version: required field is missing" + hint},
		"no digest":     {replace("  digest: "+digestB+"\n", ""), "pequod.lock:12:3: modules[2].digest: required field is missing" + hint},
		"duplicate": {
			replace("oci-layout:x", "oci://ghcr.io/acme/web:v1.4.0"),
			"pequod.lock:12:3: modules[2]: oci://ghcr.io/acme/web:v1.4.0 is listed twice" + hint + " (pequod.lock:8:3)",
		},
		"commit":    {replace(commitA, "abc"), `pequod.lock:19:11: modules[3].commit: "abc" is not the full name of a commit, 40 hex digits` + hint},
		"no commit": {replace("  commit: '"+commitA+"'\n", ""), "pequod.lock:17:3: modules[3].commit: required field is missing" + hint},
		"two digests": {
			replace("  commit: '"+commitA+"'\n", "  commit: '"+commitA+"'\n  digest: "+digestA+"\n"),
			"pequod.lock:19:11: modules[3].commit: a git repository has neither path nor digest" + hint,
		},
		"not git":       {replace("ref: 'git::https://git.example.com/web.git//shop?ref=release/1'", "ref: oci://h/web"), `pequod.lock:18:8: modules[3].ref: "oci://h/web" is not a reference to a git repository` + hint},
		"duplicate key": {replace("  version: v1.2.0\n", "  version: v1.2.0\n  version: v1.2.0\n"), "pequod.lock:6:3: modules[0].version: key given twice, first at line 5"},
		"newer":         {replace("version: 1", "version: 2"), `pequod.lock:2:10: version: "2" is a version of the format that this pequod does not know; use a newer pequod, or write it again with 'pequod module lock'`},
		"empty":         {"", "pequod.lock:1:1: 0 documents, not 1" + hint},
		"list":          {"- x\n", "pequod.lock:1:1: version: required field is missing" + hint},
		"wrong type":    {replace("  ref: oci://ghcr.io/acme/web:v1.4.0", "  ref: [x]"), "pequod.lock:4:1: modules.ref: must be a string, not array"},
		"not YAML":      {"version: 1\nmodules: [\n", "pequod.lock:2:1: not YAML: did not find expected node content"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read("pequod.lock", []byte(test.data))
			var ps problem.List
			if !errors.As(err, &ps) || err.Error() != test.want {
				t.Errorf("error\n  %v, not\n  %s", err, test.want)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(text)
	f.Add("version: 1\nmodules: []\n")
	f.Add(strings.Replace(text, "oci://ghcr.io/acme/web:v1.4.0", `"true"`, 1))
	f.Add(strings.Replace(text, "oci://ghcr.io/acme/web:v1.4.0", `"a\nb"`, 1))
	f.Add(strings.Replace(text, "oci://ghcr.io/acme/web:v1.4.0", `"oci://x:"`, 1))
	f.Fuzz(func(t *testing.T, data string) {
		lock, err := Read("pequod.lock", []byte(data))
		if err != nil {
			return
		}
		again, err := Read("pequod.lock", lock.Bytes())
		if err != nil || !slices.Equal(sorted(lock.Modules), again.Modules) {
			t.Errorf("%v, %v is not what was read: %v", again, err, lock)
		}
	})
}

func TestCompare(t *testing.T) {
	module := func(path, version, ref, digest string) Module {
		return Module{Path: path, Version: version, Ref: ref, Digest: digest, Content: contentA}
	}
	web14 := module("example.com/web@v1", "v1.4.0", "oci://h/web:v1.4.0", digestA)
	web15 := module("example.com/web@v1", "v1.5.0", "oci://h/web:v1.5.0", digestB)
	k8s12 := module("example.com/k8s@v1", "v1.2.0", "", digestA)
	k8s13 := module("example.com/k8s@v1", "v1.3.0", "", digestB)
	retagged := module("example.com/k8s@v1", "v1.2.0", "", digestB)
	old := module("example.com/old@v1", "v1.0.0", "", digestA)
	shop1 := Module{Version: "v1.0.0", Ref: "git::https://h/shop.git?ref=v1.0.0", Commit: commitA}
	shop2 := Module{Version: "v2.0.0", Ref: "git::https://h/shop.git?ref=v2.0.0", Commit: commitA}
	other := Module{Ref: "git::https://h/other.git?ref=main", Commit: commitA}
	from, to := &File{[]Module{web14, k8s12, old}}, &File{[]Module{web15, k8s13}}
	for _, test := range []struct {
		from, to *File
		want     []Change
	}{
		{from, from, nil},
		{from, to, []Change{{&k8s12, &k8s13}, {&old, nil}, {&web14, &web15}}},
		{&File{}, to, []Change{{nil, &k8s13}, {nil, &web15}}},
		{&File{[]Module{shop1}}, &File{[]Module{other, shop2}}, []Change{{nil, &other}, {&shop1, &shop2}}},
		{&File{[]Module{k8s12}}, &File{[]Module{retagged}}, []Change{{&k8s12, &retagged}}},
	} {
		if diff := cmp.Diff(test.want, Compare(test.from, test.to)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestContent(t *testing.T) {
	files := fstest.MapFS{"cue.mod/module.cue": {Data: []byte("module: \"x\"\n")}, "web.cue": {Data: []byte("package web\n")}}
	got, err := Content(files)
	// (sha256sum cue.mod/module.cue web.cue) | sha256sum, in base64
	if want := "h1:Ulw4CY030vze7iVWmdBcGEUAgxdECZaiwnm4KH7i0sg="; got != want || err != nil {
		t.Errorf("Content() = %s, %v, not %s", got, err, want)
	}
	files["web.cue"].Data = append(files["web.cue"].Data, '\n')
	if other, err := Content(files); err != nil || other == got {
		t.Errorf("Content() of other bytes = %s, %v", other, err)
	}
}

func TestBefore(t *testing.T) {
	module := func(path, version, ref, digest string) Module {
		return Module{Path: path, Version: version, Ref: ref, Digest: digest, Content: contentA}
	}
	web14 := module("example.com/web@v1", "v1.4.0", "oci://h/web:v1.4.0", digestA)
	web15 := module("example.com/web@v1", "v1.5.0", "oci://mirror/web:v1.5.0", digestB)
	shop1 := module("example.com/shop@v1", "v1.0.0", "example.com/shop@v1", digestA)
	shop2 := module("example.com/shop@v2", "v2.0.0", "example.com/shop@v2", digestB)
	git1 := Module{Version: "v1.0.0", Ref: "git::https://h/shop.git//a?ref=v1.0.0", Commit: commitA}
	git2 := Module{Version: "v2.0.0", Ref: "git::https://h/shop.git//a?ref=v2.0.0", Commit: commitA}
	k8s12 := module("example.com/k8s@v1", "v1.2.0", "", digestA)
	k8s13 := module("example.com/k8s@v1", "v1.3.0", "", digestB)
	fresh := module("example.com/new@v1", "v1.0.0", "oci://h/new:v1.0.0", digestB)
	imported := module("example.com/imported@v1", "v1.0.0", "", digestB)
	k8s12.Signer = "key sha256:a"
	p := Before(&File{[]Module{web14, shop1, git1, k8s12}}, &File{[]Module{web15, shop2, git2, k8s13, fresh, imported}})
	for ref, want := range map[string]string{
		"oci://mirror/web:v1.5.0":               "oci://h/web:v1.4.0",
		"oci://h/web:v1.4.0":                    "oci://h/web:v1.4.0",
		"example.com/shop@v2":                   "example.com/shop@v1",
		"git::https://h/shop.git//a?ref=v2.0.0": "git::https://h/shop.git//a?ref=v1.0.0",
		"example.com/k8s@v1.3.0":                "example.com/k8s@v1.2.0",
		"oci://h/new:v1.0.0":                    "",
		"example.com/imported@v1.0.0":           "",
	} {
		if got, ok := p.Ref(ref); ok != (want != "") || ok && got != want {
			t.Errorf("Ref(%s) = %s, %t; want %s", ref, got, ok, want)
		}
	}
	// Packages of the working directory import the versions of today.
	k8s12.Version, k8s12.Signer = "v1.3.0", ""
	for _, want := range []Module{k8s12, imported} {
		if got, ok := p.File.Import(want.Path, want.Version); !ok || got != want {
			t.Errorf("Import(%s, %s) = %v, %t; want %v", want.Path, want.Version, got, ok, want)
		}
	}
	if m, ok := p.File.Import("example.com/k8s@v1", "v1.2.0"); !ok || m.Digest != digestA || m.Signer != "" {
		t.Errorf("the import of an earlier module: %v, %t", m, ok)
	}
}
