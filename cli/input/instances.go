package input

import (
	"io"
	"iter"

	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// candidate is one instance, or what is wrong with what should have been one.
type candidate struct {
	file     string
	instance *render.Instance
	problems problem.List
}

// instances reads the files one after the other. An error of reading ends the
// sequence and lands in failed.
func instances(paths []string, stdin io.Reader, failed *error) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for _, file := range paths {
			shown, data, err := files.ReadInput(file, stdin)
			if err != nil {
				*failed = err
				return
			}
			for in, problems := range render.Instances(shown, data) {
				if !yield(candidate{shown, in, problems}) {
					return
				}
			}
		}
	}
}
