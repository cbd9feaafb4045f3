package review

import (
	"bytes"
	"context"
	"fmt"
	"slices"

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
	defer boundGarbage()()
	both := newShared(oldFiles, newFiles)
	before, err := objectsOf(oldArg, oldFiles, both)
	if err != nil {
		return err
	}
	after, err := objectsOf(newArg, newFiles, both)
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

// shared has the files and objects that both sides of a comparison have. Each is in memory once.
type shared struct {
	// units are those of files that are equal on both sides, by their paths. They are nil until the first side is
	// read.
	units map[string][]review.Unit
	// objects are those of other files of the first side.
	objects map[objectdiff.Key]objectdiff.Object
}

// newShared returns the paths of equal files.
func newShared(before, after []files.TreeFile) shared {
	contents := map[string][]byte{}
	for _, f := range before {
		contents[f.Path] = f.Data
	}
	s := shared{map[string][]review.Unit{}, map[objectdiff.Key]objectdiff.Object{}}
	for _, f := range after {
		if data, ok := contents[f.Path]; ok && bytes.Equal(data, f.Data) {
			s.units[f.Path] = nil
		}
	}
	return s
}

// unitsOf returns the units of a file. Those of a file that is equal on both sides have no graphs, because only
// their objects matter.
func (s shared) unitsOf(file files.TreeFile) (all []review.Unit, problems problem.List) {
	units, equal := s.units[file.Path]
	if units != nil {
		return slices.Clone(units), nil
	}
	docs, err := yamlfile.Parse(file.Name, file.Data)
	if err != nil {
		return nil, input.ProblemsOf(err)
	}
	for _, doc := range docs {
		units, err := input.DocumentUnits(doc, file.Name)
		if err != nil {
			problems = append(problems, input.ProblemsOf(err)...)
		}
		all = append(all, units...)
	}
	for i := range all {
		if equal {
			all[i].Graph = nil
			continue
		}
		for n, obj := range all[i].Objects {
			if known, ok := s.objects[obj.Key]; ok && known.Equal(obj) {
				known.File = obj.File
				all[i].Objects[n] = known
			} else {
				s.objects[obj.Key] = obj
			}
		}
	}
	if equal {
		s.units[file.Path] = all
	}
	return all, problems
}

// objectsOf returns the objects in the files of an argument. Every
// document must be an object, and each object must be there once. A skipped one would
// look like an unchanged one, so anything else is an error. Files and objects that the other side has, too, are
// taken from both.
func objectsOf(arg string, files []files.TreeFile, both shared) (review.Tree, error) {
	tree := review.Tree{Side: review.Side{Name: arg, AsIs: true}}
	var problems problem.List
	// first has the position of the first object of each key.
	first := map[objectdiff.Key]problem.Position{}
	for _, file := range files {
		units, ps := both.unitsOf(file)
		problems = append(problems, ps...)
		for _, u := range units {
			u.File, u.At.File = file.Name, file.Name // those of this side
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
			tree.Units = append(tree.Units, u)
		}
	}
	if len(problems) > 0 {
		return tree, problems
	}
	return tree, nil
}
