package cuemod

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Reach returns the directories whose files the loader can read for the package in dir: its
// own, those of all packages that it imports, directly or not, and the directories above
// them that belong to the same packages. They are by module; the zero Location is the main
// module. The directories of a module are sorted.
//
// r may be nil, for a main module without a list. Reach opens nothing that is not in r, and
// like [Walk] it leaves mistakes to the loader.
func Reach(main fs.FS, r *Resolved, dir string) (map[Location][]string, error) {
	var list *List
	others := map[Location]Files{}
	if r != nil {
		list, others = r.List, r.Modules
	}
	w := &walk{files: map[fileKey]importingFile{}, dirs: map[Location]map[string]bool{}}
	w.finder = NewFinder(main, list, func(l Location) (fs.FS, error) {
		if files, ok := others[l]; ok {
			return files.FS, nil
		}
		return nil, errors.New("not open")
	})
	visited, err := w.packages(dir, func([]importer) error { return nil })
	if err != nil {
		return nil, err
	}
	if visited >= maxPackages {
		return nil, fmt.Errorf("imports more than %d packages", maxPackages)
	}
	dirs := map[Location][]string{}
	for location, names := range w.dirs {
		dirs[location] = slices.Sorted(maps.Keys(names))
	}
	return dirs, nil
}
