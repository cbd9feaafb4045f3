package moduleinit

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// Embedded is the name of an embedded module that is copied.
type Embedded string

// The names in the files of an embedded module that are those of the copy instead.
var (
	packageClause = lazyregexp.New(`(?m)^package [a-z]+$`)
	platformKind  = lazyregexp.New(`(?m)^\tkind: +"[A-Za-z]+"$`)
	shortNames    = lazyregexp.New(`(?m)^\tshortNames: .*\n`)
	instanceKind  = lazyregexp.New(`(?m)^kind: [A-Za-z]+$`)
)

// files implements [Source]: it returns the files of the embedded module with the names
// of the new one. Goldens are left out, because the new names are in them. A copy with
// another kind has no short names: two kinds of a group must not have the same ones.
func (e Embedded) files(name string) (map[string][]byte, error) {
	all, err := templateFiles{}.files(name)
	if err != nil {
		return nil, err
	}
	moduleFile := all["cue.mod/module.cue"]
	source, err := modules.EmbeddedSource(string(e))
	if err != nil {
		return nil, err
	}
	kind := render.KindName(name)
	all = map[string][]byte{}
	err = fs.WalkDir(source, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(source, p)
		if err != nil {
			return err
		}
		text := string(data)
		switch {
		case p == "platform.cue":
			if !strings.EqualFold(kind, string(e)) {
				text = shortNames().ReplaceAllString(text, "")
				text = platformKind().ReplaceAllString(text, fmt.Sprintf("\tkind: %q", kind))
			}
			fallthrough
		case path.Ext(p) == ".cue" && path.Dir(p) == ".":
			all[p] = []byte(packageClause().ReplaceAllString(text, "package "+packageName(name)))
		case path.Base(p) == "instance.yaml":
			if !strings.EqualFold(kind, string(e)) {
				text = instanceKind().ReplaceAllString(text, "kind: "+kind)
			}
			all[p] = []byte(text)
		}
		return nil
	})
	all["cue.mod/module.cue"] = moduleFile
	return all, err
}
