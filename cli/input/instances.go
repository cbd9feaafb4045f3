package input

import (
	"context"
	"io"
	"iter"

	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/render"
)

// candidate is a document that should be an instance.
type candidate struct {
	// file is the name of the file in messages.
	file string
	// instance is nil if the document is no instance. problems then has the reason.
	instance *render.Instance
	// problems are those of reading the document. An instance may have some, too.
	problems problem.List
}

// instances returns the documents of the files in order. It reads a file when the
// sequence gets there, so that only one file at a time is in memory, and calls read with
// its bytes unless read is nil. An I/O error, or the end of ctx, ends the sequence and is
// stored in failed.
func instances(ctx context.Context, paths []string, stdin io.Reader, read func(string, []byte), failed *error) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for _, file := range paths {
			shown, data, err := files.ReadInput(ctx, file, stdin)
			if err != nil {
				*failed = err
				return
			}
			if read != nil {
				read(shown, data)
			}
			for in, problems := range render.Instances(shown, data) {
				if !yield(candidate{shown, in, problems}) {
					return
				}
			}
		}
	}
}
