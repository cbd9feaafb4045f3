package inline_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/modules/inline"
)

// TestNew covers the names and sizes that are refused, and the file system.
func TestNew(t *testing.T) {
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprintf("f%d.cue", i)] = ""
	}
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "has no .cue file"},
		{map[string]string{"README.md": ""}, "has no .cue file"},
		{many, "has 65 files; at most 64 are allowed"},
		{map[string]string{"x.cue": strings.Repeat("x", 1<<20), "y.cue": "y"}, "has 1048577 bytes; at most 1048576 are allowed"},
		{map[string]string{"x.cue": "", "x.cue/y.cue": ""}, "x.cue is both a file and a directory"},
		{map[string]string{"../x.cue": ""}, `"../x.cue" is not the path of a file: want letters, digits, '-', '_' and '.', in elements that begin with a letter or digit`},
		{map[string]string{"/x.cue": ""}, `"/x.cue" is not the path of a file: want letters, digits, '-', '_' and '.', in elements that begin with a letter or digit`},
		{map[string]string{"a//x.cue": ""}, `"a//x.cue" is not the path of a file: want letters, digits, '-', '_' and '.', in elements that begin with a letter or digit`},
		{map[string]string{"_x.cue": ""}, `"_x.cue" is not the path of a file: want letters, digits, '-', '_' and '.', in elements that begin with a letter or digit`},
	} {
		if _, err := inline.New(test.files, inline.Origin{}); err == nil || err.Error() != test.want {
			t.Errorf("%v; want %s", err, test.want)
		}
	}
	m, err := inline.New(map[string]string{"x.cue": "package x", "cue.mod/module.cue": "module", "a/b/y.cue": "y"}, inline.Origin{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	err = fs.WalkDir(m.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if got, want := strings.Join(names, " "), ". a a/b a/b/y.cue cue.mod cue.mod/module.cue x.cue"; got != want || err != nil {
		t.Errorf("files %s, want %s; %v", got, want, err)
	}
	if data, err := fs.ReadFile(m.FS(), "x.cue"); string(data) != "package x" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// TestConfigMap covers the ConfigMaps that are refused, keys with slashes, and manifests
// with and without a namespace.
func TestConfigMap(t *testing.T) {
	cm := func(namespace string, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		c := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: map[string]string{"pequod.io/cue-module": "true"}},
			Data:       map[string]string{"web.cue": "package web", "cue.mod__module.cue": "x"},
		}
		change(c)
		return c
	}
	nothing := func(*corev1.ConfigMap) {}
	m, err := inline.FromConfigMap(cm("shop", nothing), inline.Origin{Name: "web.yaml: data"})
	if err != nil || m.Files["cue.mod/module.cue"] != "x" || m.Origin.Show("/cue.mod/module.cue") != "web.yaml: data[cue.mod__module.cue]" {
		t.Errorf("%+v, %v", m, err)
	}
	for want, change := range map[string]func(*corev1.ConfigMap){
		"x: has no label pequod.io/cue-module=true, which marks modules":  func(c *corev1.ConfigMap) { c.Labels = nil },
		"x: has no label pequod.io/cue-module=true, which marks modules ": func(c *corev1.ConfigMap) { c.Labels["pequod.io/cue-module"] = "yes" },
		"x: binaryData[x.cue]: modules are text in UTF-8, in data":        func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{"x.cue": {0}} },
		"x: has no .cue file": func(c *corev1.ConfigMap) { c.Data = nil },
		`x: "a/_b.cue" is not the path of a file: want letters, digits, '-', '_' and '.', in elements that begin with a letter or digit`: func(c *corev1.ConfigMap) { c.Data["a___b.cue"] = "" },
	} {
		if _, err := inline.FromConfigMap(cm("shop", change), inline.Origin{Name: "x"}); err == nil || err.Error() != strings.TrimSpace(want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	var manifests inline.Manifests
	manifests.Add(cm("", nothing), inline.Origin{Name: "a"})
	for _, namespace := range []string{"", "shop", "other"} {
		if m, err := manifests.Find(namespace, "web"); m == nil || err != nil {
			t.Errorf("%q: %v, %v", namespace, m, err)
		}
	}
	manifests.Add(cm("shop", nothing), inline.Origin{Name: "b"})
	if _, err := manifests.Find("shop", "web"); err == nil || err.Error() != "two ConfigMaps web: a and b" {
		t.Error(err)
	}
	if m, err := manifests.Find("shop", "none"); m != nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
}
