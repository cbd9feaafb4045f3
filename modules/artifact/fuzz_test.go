package artifact_test

import (
	"io/fs"
	"testing"

	"github.com/pequod-io/pequod/modules/artifact"
)

// FuzzOpen opens artifacts with any archive and module file. What is accepted has files with names
// inside of the module only, and they can be read.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(archive(f, nil, "a.cue", "package a\n", "b/c.cue", "package c\n")), []byte(validFile))
	f.Add([]byte(archive(f, nil, "../a.cue", "")), []byte(validFile))
	f.Add([]byte(archive(f, nil, "a", "", "a/b.cue", "")), []byte(validFile))
	f.Add([]byte("PK\x05\x06"), []byte(`module: "x@v0", deps: {}`))
	f.Add([]byte{}, []byte("module: \x00"))
	f.Fuzz(func(t *testing.T, zip, file []byte) {
		info, files, err := artifact.Open(moduleImage(t, string(zip), string(file)))
		if err != nil {
			return
		}
		if info.Path == "" {
			t.Error("a module without a path")
		}
		total := 0
		err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if !fs.ValidPath(name) || !e.IsDir() && !e.Type().IsRegular() {
				t.Errorf("the module has %q of type %s", name, e.Type())
			}
			if e.IsDir() {
				return nil
			}
			data, err := fs.ReadFile(files, name)
			total += len(data)
			return err
		})
		if err != nil || total > 256<<20 {
			t.Errorf("%d bytes, %v", total, err)
		}
	})
}
