package outdir

import (
	"maps"
	"slices"
)

// Contents returns the files as [Write] writes them to an empty directory: with their
// headers, in the order of their paths.
func Contents(owner string, files []File) ([]File, error) {
	byPath, err := newRun("", owner).prepare(files, Options{})
	if err != nil {
		return nil, err
	}
	var sorted []File
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		sorted = append(sorted, byPath[path])
	}
	return sorted, nil
}
