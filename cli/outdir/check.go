package outdir

// Stale is a file that [Write] with the same arguments would change.
type Stale struct {
	// Path is the path of the file, relative to the directory.
	Path string
	// Source is that of the [File], or "" for a file that would be pruned.
	Source string
	// Line is the first line that would change. It is 0 if the file is missing or
	// would be pruned.
	Line int
}

// Check returns the files that Write would change, in the order of their paths;
// files that it would prune come last. Nothing is written. The errors are those of
// Write that are found before the first change.
func Check(dir, owner string, files []File, o Options) ([]Stale, error) {
	r := newRun(dir, owner)
	byPath, err := r.prepare(files, o)
	if err != nil {
		return nil, err
	}
	if err := r.open(false); err != nil {
		return nil, err
	}
	p := plan{}
	if r.root == nil {
		p = missing(byPath)
	} else {
		defer r.root.Close() // it was only read
		if p, err = r.plan(byPath, o.Prune); err != nil {
			return nil, err
		}
	}
	var stale []Stale
	for _, w := range p.write {
		if !w.modeOnly {
			stale = append(stale, Stale{Path: w.Path, Source: w.Source, Line: w.line})
		}
	}
	for _, file := range p.remove {
		stale = append(stale, Stale{Path: file})
	}
	return stale, nil
}
