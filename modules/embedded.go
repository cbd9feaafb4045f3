package modules

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// platforms contains the CUE files of the embedded modules: one directory platform/NAME
// per module. The module files are left out: they take time to parse, and would only
// replace the short name of the module in graphs by its path.
//
//go:embed platform/*/*.cue
var platforms embed.FS

// sources contains the embedded modules as they are published, with their module files
// and test cases. The program has the bytes of a file once, even if it is in platforms,
// too.
//
//go:embed platform
var sources embed.FS

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

// EmbeddedSource returns all files of an embedded module, its module file and test cases
// included. They are those of its directory in the source of the program, so its artifact
// has the same digest wherever it is published from.
func EmbeddedSource(name string) (fs.FS, error) { return embedded(sources, name) }

// openEmbedded opens the embedded module with the given name.
func openEmbedded(name string) (*Files, error) {
	files, err := embedded(platforms, name)
	if err != nil {
		return nil, err
	}
	return &Files{FS: files, Dir: ".", Name: name, Ref: "embedded:" + name, display: name}, nil
}

// embedded returns the directory of an embedded module in one of the file systems.
func embedded(files embed.FS, name string) (fs.FS, error) {
	names := Embedded()
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("no embedded module %q; there are: %s", name, strings.Join(names, ", "))
	}
	return fs.Sub(files, "platform/"+name)
}
