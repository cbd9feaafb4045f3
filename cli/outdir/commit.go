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

// ErrEmpty is what Commit returns rather than prune everything by mistake.
var ErrEmpty = errors.New("nothing was rendered, so everything would be pruned")

// Options say how much a commit may remove.
type Options struct {
	// Prune removes the files that the index lists and this run didn't add.
	Prune bool
	// AllowEmpty lets a run that added nothing prune.
	AllowEmpty bool
}

// Result lists, sorted, what a commit did. Files whose content was right before
// are in neither list; they weren't touched.
type Result struct {
	Written, Removed []string
}

// Commit puts the staged files into place and ends the run. Everything that can
// be known to fail is checked before the first change; then Commit has done what
// Abort does. If it fails later still, each file is either old or new, and the
// next run completes what this one began.
func (s *Stage) Commit(o Options) (Result, error) {
	result, err := s.commit(o)
	// What Abort can't remove lies in the staging directory, which the next run
	// sweeps; the error that led here says more.
	_ = s.Abort()
	return result, err
}

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
	s.made = nil
	return Result{plan.write, plan.remove}, nil
}

// plan is what a commit does to a directory.
type plan struct {
	write  []string // staged files to rename
	remove []string // files to prune
	gone   []string // files to prune that are gone: their directories may be empty
	owned  set      // what the index lists in the end
}

// plan compares what was added with what is there, and changes nothing.
func (s *Stage) plan(prune bool) (plan, error) {
	p := plan{owned: set{}}
	var foreign []string
	for _, file := range slices.Sorted(maps.Keys(s.entries)) {
		e := s.entries[file]
		info, err := s.look(file)
		switch {
		case err != nil:
			return plan{}, err
		case e.kept != nil && (info == nil || info.Size() != e.kept.Size() || !info.ModTime().Equal(e.kept.ModTime())):
			return plan{}, s.fail(file, "keeping", errors.New("changed meanwhile; run again"))
		case e.kept == nil && info != nil && !s.owned[file]:
			foreign = append(foreign, file)
		case e.kept == nil:
			p.write = append(p.write, file)
		}
		p.owned[file] = true
	}
	if len(foreign) > 0 {
		return plan{}, s.refuse(foreign)
	}
	for _, file := range s.owned.sorted() {
		if p.owned[file] {
			continue
		}
		info, err := s.look(file)
		switch {
		case err != nil:
			return plan{}, err
		case info != nil && prune:
			p.remove = append(p.remove, file)
		case info != nil:
			p.owned[file] = true
		case prune:
			p.gone = append(p.gone, file)
		}
	}
	return p, s.probe(p)
}

// refuse names files that stand in the way and aren't pequod's.
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

// probe makes sure that files can be made and removed wherever the plan does
// so, lest a directory that can't be written is noticed halfway.
func (s *Stage) probe(p plan) error {
	probed := set{}
	for _, file := range slices.Concat(p.write, p.remove) {
		dir := path.Dir(file)
		if probed[dir] {
			continue
		}
		probed[dir] = true
		if _, err := s.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			continue // to be made
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

// execute does what was planned, intent first: the index lists a file before it
// appears and until it is gone.
func (s *Stage) execute(p plan) error {
	intent := maps.Clone(s.owned)
	maps.Copy(intent, p.owned)
	if len(p.write)+len(p.remove) > 0 {
		if err := s.writeIndex(intent); err != nil {
			return err
		}
	}
	for _, file := range p.write {
		if err := s.place(file); err != nil {
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
	if s.onDisk == nil && len(p.owned) == 0 {
		return nil
	}
	return s.writeIndex(p.owned)
}

func (s *Stage) place(file string) error {
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

// removeEmptied removes the directories of pruned files that hold nothing else.
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
