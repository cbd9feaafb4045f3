package review

import (
	"context"
	"errors"
	"fmt"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/internal/confine"
	"github.com/pequod-io/pequod/internal/problem"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/review"
)

// run compares two sets of objects offline. Both sides must be readable as a
// whole; see objectsOf. The exit code is 1 if they differ.
func (o *diffOptions) run(ctx context.Context, env command.Env, oldArg, newArg string) error {
	oldFiles, err := o.readTree(ctx, oldArg)
	if err != nil {
		return err
	}
	newFiles, err := o.readTree(ctx, newArg)
	if err != nil {
		return err
	}
	if err := o.Confine(ctx, confine.Room{}); err != nil {
		return err
	}
	before, err := objectsOf(oldArg, oldFiles)
	if err != nil {
		return err
	}
	after, err := objectsOf(newArg, newFiles)
	if err != nil {
		return err
	}
	r, err := review.New(before, after, nil)
	if err != nil {
		return err
	}
	if err := o.write(env.Out, r); err != nil {
		return command.OutputError(err)
	}
	return command.ExitWith(differenceCode(r))
}

// objectsOf returns the objects in the files of an argument. Every
// document must be an object, and each object must be there once. A skipped one would
// look like an unchanged one, so anything else is an error.
func objectsOf(arg string, files []files.TreeFile) (review.Tree, error) {
	tree := review.Tree{Side: review.Side{Name: arg, AsIs: true}}
	var problems problem.List
	// first has the position of the first object of each key.
	first := map[objectdiff.Key]problem.Position{}
	for _, file := range files {
		docs, err := yamlfile.Parse(file.Name, file.Data)
		if err != nil {
			var ps problem.List
			if !errors.As(err, &ps) {
				return tree, err
			}
			problems = append(problems, ps...)
			continue
		}
		for _, doc := range docs {
			units, err := input.DocumentUnits(doc, file.Name)
			if err != nil {
				problems = append(problems, input.ProblemsOf(err)...)
				continue
			}
			for _, u := range units {
				for _, obj := range u.Objects {
					if at, ok := first[obj.Key]; ok {
						problems = append(problems, problem.Problem{
							Position: u.At, Rule: problem.RuleDuplicate,
							Message: fmt.Sprintf("%s stands at %s already", obj, at),
						})
						continue
					}
					first[obj.Key] = u.At
				}
			}
			tree.Units = append(tree.Units, units...)
		}
	}
	if len(problems) > 0 {
		return tree, problems
	}
	return tree, nil
}
