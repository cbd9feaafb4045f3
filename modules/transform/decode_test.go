package transform_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/pequod-io/pequod/modules/transform"
)

// entry is an entry of an archive.
type entry struct {
	name, data string
	method     uint16
}

func archive(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		if err == nil {
			_, err = f.Write([]byte(e.data))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDecodeErrors checks that archives which Encode doesn't write are refused.
func TestDecodeErrors(t *testing.T) {
	const one = `{"Modules": [{"Path": "spec.cueRef"}], "Roots": [{}]}`
	manifest := entry{name: "sources.json", data: one}
	for name, test := range map[string]struct {
		entries []entry
		want    string
	}{
		"empty":            {nil, "the first entry is not sources.json"},
		"order":            {[]entry{{name: "0/x.cue"}, manifest}, "the first entry is not sources.json"},
		"unknown field":    {[]entry{{name: "sources.json", data: `{"Extra": 1}`}}, "unknown field"},
		"two values":       {[]entry{{name: "sources.json", data: one + "{}"}}, "more than one value"},
		"no module":        {[]entry{{name: "sources.json", data: `{}`}}, "has no module"},
		"root":             {[]entry{{name: "sources.json", data: `{"Modules": [{"Path": "x", "Root": 1}], "Roots": [{}]}`}}, "x: no root 1"},
		"negative root":    {[]entry{{name: "sources.json", data: `{"Modules": [{"Path": "x", "Root": -1}], "Roots": [{}]}`}}, "x: no root -1"},
		"unused import":    {[]entry{{name: "sources.json", data: `{"Modules": [{"Path": "x", "Resolved": true, "Imports": {"a@v1": 0}}], "Roots": [{}]}`}, {name: "0/cue.mod/module.cue", data: "module: \"example.com/b@v0\"\nlanguage: version: \"v0.17.0\""}}, "other modules than its module file lists"},
		"no list":          {[]entry{{name: "sources.json", data: `{"Modules": [{"Path": "x", "Resolved": true}], "Roots": [{}]}`}}, "no list of modules"},
		"outside a root":   {[]entry{manifest, {name: "x.cue"}}, `"x.cue" is not the name of an entry`},
		"other root":       {[]entry{manifest, {name: "1/x.cue"}}, `"1/x.cue" is not the name of an entry`},
		"spelling of root": {[]entry{manifest, {name: "+0/x.cue"}}, `"+0/x.cue" is not the name of an entry`},
		"parent":           {[]entry{manifest, {name: "0/../x.cue"}}, `"0/../x.cue" is not the name of an entry`},
		"backslash":        {[]entry{manifest, {name: `0/a\x.cue`}}, "is not the name of an entry"},
		"twice":            {[]entry{manifest, {name: "0/x.cue"}, {name: "0/x.cue"}}, `two entries "0/x.cue"`},
		"compressed":       {[]entry{manifest, {name: "0/x.cue", data: strings.Repeat(" ", 1<<20), method: zip.Deflate}}, "0/x.cue: is compressed"},
		"manifest":         {[]entry{{name: "sources.json", data: one, method: zip.Deflate}}, "sources.json: is compressed"},
	} {
		if _, err := transform.Decode(archive(t, test.entries...)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if _, err := transform.Decode([]byte("none")); err == nil {
		t.Error("not an archive: no error")
	}
}
