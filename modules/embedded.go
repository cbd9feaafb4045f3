package modules

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed platform/*/*.cue
var platforms embed.FS

// Embedded lists the modules that come with the program. A module's name is its
// kind in lower case, so that an instance's kind tells which one to load.
func Embedded() []string {
	entries, err := platforms.ReadDir("platform")
	if err != nil {
		// The directory is part of the program.
		panic(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func openEmbedded(name string) (*Files, error) {
	names := Embedded()
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("no embedded module %q; there are: %s", name, strings.Join(names, ", "))
	}
	sub, err := fs.Sub(platforms, "platform/"+name)
	if err != nil {
		return nil, err
	}
	return &Files{FS: sub, Dir: ".", Name: name, Ref: "embedded:" + name, show: name}, nil
}
