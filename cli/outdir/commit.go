package outdir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// ErrEmpty is returned by Commit if it would prune everything, probably by mistake.
var ErrEmpty = errors.New("nothing was rendered, so everything would be pruned")

// Options limits the files that a commit removes. The zero value removes nothing.
type Options struct {
	// Prune removes files that the index lists and this run did not add.
	Prune bool
	// AllowEmpty allows a run without files to prune.
	AllowEmpty bool
}

// Result lists the files that a commit changed, sorted. Files that had the right
// content are in neither list: they are not touched. The paths have slashes and
// are relative to the directory, as [Path] returns them.
type Result struct {
	Written, Removed []string
}

// Commit moves the staged files into place and ends the run. It checks everything that
// can be checked before the first change, and on an error aborts the run. If it
// fails after the first change, each file is either old or new, and the next run
// completes the change.
func (s *Stage) Commit(o Options) (Result, error) {
	result, err := s.commit(o)
	// Abort can fail only to remove the staging directory, which the next run does.
	// The first error is more useful.
	_ = s.Abort()
	return result, err
}

// commit is Commit without the end of the run.
func (s *Stage) commit(o Options) (Result, error) {
	if s.unlock == nil {
		return Result{}, fmt.Errorf("%s: the run has ended", s.dir)
	}
	if o.Prune && len(s.entries) == 0 && !o.AllowEmpty {
		return Result{}, fmt.Errorf("%s: %w", s.dir, ErrEmpty)
	}
	if s.root == nil {
		return Result{}, nil // nothing to write, nothing to remove
	}
	plan, err := s.plan(o.Prune)
	if err != nil {
		return Result{}, err
	}
	if err := s.execute(plan); err != nil {
		return Result{}, err
	}
	s.created = nil
	return Result{plan.write, plan.remove}, nil
}

// plan lists the changes that a commit makes.
type plan struct {
	write  []string // staged files to rename
	remove []string // files to prune
	gone   []string // files to prune that do not exist; their directories may be empty now
	owned  set      // the files that the index lists after the commit
}

// plan compares the added files with the directory. It changes nothing but for
// probes. It returns an error if a file of the user is in the way, if a kept file
// has changed since it was added, or if a directory is not writable.
func (s *Stage) plan(prune bool) (plan, error) {
	p := plan{owned: set{}}
	var foreign []string
	for _, file := range slices.Sorted(maps.Keys(s.entries)) {
		e := s.entries[file]
		info, err := s.stat(file)
		switch {
		case err != nil:
			return plan{}, err
		case e.kept != nil && (info == nil || info.Size() != e.kept.Size() || !info.ModTime().Equal(e.kept.ModTime())):
			return plan{}, s.fail(file, "keeping", errors.New("changed meanwhile; run again"))
		case e.kept == nil && info != nil && !s.owned[file]: // another file of the user
			foreign = append(foreign, file)
		case e.kept == nil:
			p.write = append(p.write, file)
		}
		p.owned[file] = true
	}
	if len(foreign) > 0 {
		return plan{}, s.refuse(foreign)
	}
	// The files of the index that this run did not add.
	for _, file := range s.owned.sorted() {
		if p.owned[file] {
			continue
		}
		info, err := s.stat(file)
		switch {
		case err != nil:
			return plan{}, err
		case info != nil && prune:
			p.remove = append(p.remove, file)
		case info != nil: // stays, and may be pruned by a later run
			p.owned[file] = true
		case prune:
			p.gone = append(p.gone, file)
		}
	}
	return p, s.probe(p)
}

// refuse returns the error for files of the user that would be overwritten.
func (s *Stage) refuse(foreign []string) error {
	names := make([]string, 0, 3)
	for _, file := range foreign[:min(len(foreign), cap(names))] {
		names = append(names, filepath.Join(s.dir, filepath.FromSlash(file)))
	}
	subject := strings.Join(names, ", ")
	if more := len(foreign) - len(names); more > 0 {
		subject += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Errorf("%s: not written by pequod and not what it would write: move or delete, or choose another directory", subject)
}

// probe checks that files can be created and removed in every directory that the plan
// changes, so that missing permissions are found before the first change.
func (s *Stage) probe(p plan) error {
	probed := set{}
	for _, file := range slices.Concat(p.write, p.remove) {
		dir := path.Dir(file)
		if probed[dir] {
			continue
		}
		probed[dir] = true
		if _, err := s.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue // will be created
		}
		if err := s.step("probe " + dir); err != nil {
			return err
		}
		name := dir + "/" + probeName
		if err := s.root.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return s.fail(dir, "writing below it", err)
		}
		if err := s.step("end the probe of " + dir); err != nil {
			return err
		}
		if err := s.root.Remove(name); err != nil {
			return s.fail(dir, "writing below it", err)
		}
	}
	return nil
}

// execute makes the changes of a plan. Before the first one, the index gets the files
// of both states; see the package comment.
func (s *Stage) execute(p plan) error {
	union := maps.Clone(s.owned)
	maps.Copy(union, p.owned)
	if len(p.write)+len(p.remove) > 0 { // otherwise one index is enough
		if err := s.writeIndex(union); err != nil {
			return err
		}
	}
	for _, file := range p.write {
		if err := s.moveIntoPlace(file); err != nil {
			return err
		}
	}
	for _, file := range p.remove {
		if err := s.step("remove " + file); err != nil {
			return err
		}
		if err := s.root.Remove(file); err != nil {
			return s.fail(file, "removing", err)
		}
	}
	if err := s.removeEmptied(slices.Concat(p.remove, p.gone)); err != nil {
		return err
	}
	if s.onDisk == nil && len(p.owned) == 0 { // no index, and nothing to list
		return nil
	}
	return s.writeIndex(p.owned)
}

// moveIntoPlace renames a staged file to its path, and creates its directory.
func (s *Stage) moveIntoPlace(file string) error {
	dir := path.Dir(file)
	if _, err := s.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := s.step("make " + dir); err != nil {
			return err
		}
		if err := s.root.Mkdir(dir, 0o755); err != nil {
			return s.fail(dir, "making it", err)
		}
	}
	if err := s.step("place " + file); err != nil {
		return err
	}
	if err := s.root.Rename(s.entries[file].staged, file); err != nil {
		return s.fail(file, "writing", err)
	}
	return nil
}

// removeEmptied removes the directories of pruned files that are empty now. A
// directory with files of the user or of another owner stays.
func (s *Stage) removeEmptied(files []string) error {
	dirs := set{}
	for _, file := range files {
		dirs[path.Dir(file)] = true
	}
	for _, dir := range dirs.sorted() {
		entries, err := fs.ReadDir(s.root.FS(), dir)
		if errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
			continue
		}
		if err != nil {
			return s.fail(dir, "reading", err)
		}
		if err := s.step("remove " + dir); err != nil {
			return err
		}
		if err := s.root.Remove(dir); err != nil {
			return s.fail(dir, "removing", err)
		}
	}
	return nil
}
