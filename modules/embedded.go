package modules

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// platforms contains the CUE files of the embedded modules, without their test
// cases: one directory platform/NAME per module.
//
//go:embed platform/*/*.cue
var platforms embed.FS

// Embedded returns the names of the modules that are compiled into the program,
// sorted. The name of an embedded module is its kind in lower case, so the kind
// of an instance is enough to find its module.
func Embedded() []string {
	entries, err := platforms.ReadDir("platform")
	if err != nil {
		panic(err) // cannot happen: the directory is compiled in
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// openEmbedded opens the embedded module with the given name.
func openEmbedded(name string) (*Files, error) {
	names := Embedded()
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("no embedded module %q; there are: %s", name, strings.Join(names, ", "))
	}
	sub, err := fs.Sub(platforms, "platform/"+name)
	if err != nil {
		return nil, err
	}
	return &Files{FS: sub, Dir: ".", Name: name, Ref: "embedded:" + name, display: name}, nil
}
