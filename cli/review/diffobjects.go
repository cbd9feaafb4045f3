package review

import (
	"context"
	"errors"
	"fmt"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
)

// readObjects reads the objects of a file, directory, git revision or bundle. Every
// document must be an object, and each object must be there once. A skipped one would
// look like an unchanged one, so anything else is an error.
func (o *diffOptions) readObjects(ctx context.Context, arg string) ([]objectdiff.Object, error) {
	files, err := o.readTree(ctx, arg)
	if err != nil {
		return nil, err
	}
	var all []objectdiff.Object
	var problems problem.List
	// first has the position of the first object of each key.
	first := map[objectdiff.Key]problem.Position{}
	for _, file := range files {
		docs, err := yamlfile.Parse(file.Name, file.Data)
		if err != nil {
			var ps problem.List
			if !errors.As(err, &ps) {
				return nil, err
			}
			problems = append(problems, ps...)
			continue
		}
		for _, doc := range docs {
			objects, err := input.DocumentObjects(doc, file.Name)
			if err != nil {
				problems = append(problems, input.ProblemsOf(err)...)
				continue
			}
			for _, obj := range objects {
				if at, ok := first[obj.Key]; ok {
					problems = append(problems, problem.Problem{
						Position: doc.PosOf(nil), Rule: problem.RuleDuplicate,
						Message: fmt.Sprintf("%s stands at %s already", obj, at),
					})
					continue
				}
				first[obj.Key] = doc.PosOf(nil)
				all = append(all, obj)
			}
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}
