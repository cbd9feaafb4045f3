package moduletest

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
)

// Update writes the goldens of a case from its outcome and removes a golden of
// the other kind. It returns the files that it changed. Files are replaced
// atomically. The result then counts as passed. A golden that is correct already
// is not written.
//
// The new golden is written before the other one is removed. After an error, the
// case may have both, which [Run] reports.
func (r *Result) Update() ([]string, error) {
	c, m := r.Case, r.Module
	if c.instance == nil {
		return nil, nil // the result already reports the missing file
	}
	// The golden to write with its new and old content, and the golden to remove.
	write, data, was, remove, other := graphFile, r.outcome.graph, c.graph, errorFile, c.errors
	if r.outcome.graph == nil {
		write, data, was, remove, other = errorFile, r.outcome.text(), c.errors, graphFile, c.graph
	}
	var changed []string
	if was == nil || !bytes.Equal(data, was) {
		if err := m.writeFile(path.Join("tests", c.Name, write), data); err != nil {
			return changed, err
		}
		changed = append(changed, m.pathOf(c, write))
	}
	if other != nil {
		if err := m.root.Remove(path.Join("tests", c.Name, remove)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changed, pathError(m.pathOf(c, remove), err)
		}
		changed = append(changed, m.pathOf(c, remove)+" (removed)")
	}
	r.Message, r.Detail = "", ""
	return changed, nil
}

// writeFile writes a file through a temporary file in the same directory. Its
// name begins with a dot. name is relative to the module's directory.
func (m *Module) writeFile(name string, data []byte) error {
	temporary := path.Join(path.Dir(name), "."+path.Base(name)+".new")
	err := m.root.WriteFile(temporary, data, 0o644)
	if err == nil {
		err = m.root.Rename(temporary, name)
	}
	if err != nil {
		// The first error matters more than that of the cleanup.
		_ = m.root.Remove(temporary)
		return pathError(m.Dir+"/"+name, err)
	}
	return nil
}
