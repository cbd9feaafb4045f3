package moduletest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/render"
)

// The files of a case.
const (
	instanceFile = "instance.yaml"
	graphFile    = "graph.yaml"
	errorFile    = "error.txt"
)

// maxFileSize is the size limit for one file of a case, in bytes. No useful case
// comes near it; it only keeps a file that was put there by mistake from filling
// the memory.
const maxFileSize = 64 << 20

// Module is a module with its cases. The caller must close it.
type Module struct {
	// Dir is the module's directory as the user wrote it, slash-separated.
	Dir string
	// Cases are sorted by name. There is at least one.
	Cases []Case

	// files has the sources of the module, and root is its directory. Cases are
	// read and written through root, so that no symbolic link leads out of the
	// module.
	files *modules.Files
	root  *os.Root
	// platform is the loaded module, whose positions are relative to a case.
	platform *render.Platform
}

// Case is one case with the contents of its files.
type Case struct {
	// Name is the name of the case's directory.
	Name string
	// instance is nil if the file is missing.
	instance []byte
	// graph and errors are the goldens. They are nil if the file is missing.
	graph, errors []byte
}

// Open loads the module in a directory through opener, and reads its cases. If the
// module itself has errors, the error is a problem.List. A module without cases is
// an error.
func Open(ctx context.Context, opener *modules.Opener, dir string) (*Module, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, pathError(dir, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: not a directory", dir)
	}
	m := &Module{Dir: filepath.ToSlash(filepath.Clean(dir))}
	if m.files, err = opener.Open(ctx, v1alpha1.CueRef{Type: v1alpha1.CueRefPath, Ref: dir}, modules.Place{}); err != nil {
		return nil, err
	}
	if m.root, err = os.OpenRoot(dir); err != nil {
		return nil, pathError(dir, err)
	}
	if m.platform, err = m.load(nil, m.showFromCase); err != nil {
		// Loading again reports the errors under the names that the user knows.
		_, err = m.load(nil, m.files.Show)
	} else {
		err = m.readCases()
	}
	if err != nil {
		m.Close() // the first error is more useful
		return nil, err
	}
	return m, nil
}

// Close closes the module's directory.
func (m *Module) Close() error { return m.root.Close() }

// showFromCase returns the path from a case to a file of the module, such as
// ../../render.cue. With these names, error.txt is the same wherever the module
// lies.
func (m *Module) showFromCase(file string) string {
	rel, err := filepath.Rel(filepath.FromSlash(m.files.Dir), filepath.FromSlash(strings.TrimPrefix(file, "/")))
	if err != nil {
		return file
	}
	return path.Join("../..", filepath.ToSlash(rel))
}

// load loads the module with some of its files replaced. show returns the names
// of files in positions. The keys of replaced are paths in the module's file
// system. Coverage uses it to change the module without writing files.
func (m *Module) load(replaced map[string][]byte, show func(string) string) (*render.Platform, error) {
	mod, err := render.Load(render.Source{
		FS: overlay{m.files.FS, replaced}, Dir: m.files.Dir, Show: show, Ref: m.files.Ref, Version: m.files.Version, Modules: m.files.Modules,
	})
	if err != nil {
		return nil, err
	}
	p, err := render.NewPlatform(m.files.Name, v1alpha1.TransformSpec{}, mod)
	if err == nil {
		p.From = m.Dir
	}
	return p, err
}

// readCases reads the cases. A directory without instance.yaml is a case too: [Run]
// reports it as failed, so that a misnamed file is noticed.
func (m *Module) readCases() error {
	names, err := caseNames(m.root, m.Dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		c := Case{Name: name}
		for file, data := range map[string]*[]byte{instanceFile: &c.instance, graphFile: &c.graph, errorFile: &c.errors} {
			if *data, err = readFile(m.root, m.Dir, path.Join("tests", name, file)); err != nil {
				return err
			}
		}
		m.Cases = append(m.Cases, c)
	}
	if len(m.Cases) == 0 {
		return fmt.Errorf("%s: no cases; a case is a directory tests/NAME with %s", m.Dir, instanceFile)
	}
	return nil
}

// InstanceFile is a file with the instances of a case.
type InstanceFile struct {
	// Path begins with the module's directory.
	Path string
	Data []byte
}

// Instances returns the instance.yaml of each case of the module in dir, sorted by
// path. There may be none.
func Instances(dir string) ([]InstanceFile, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, pathError(dir, err)
	}
	defer root.Close() // it was only read
	dir = filepath.ToSlash(filepath.Clean(dir))
	names, err := caseNames(root, dir)
	var files []InstanceFile
	for _, name := range names {
		file := path.Join("tests", name, instanceFile)
		data, err := readFile(root, dir, file)
		if err != nil {
			return nil, err
		}
		if data != nil {
			files = append(files, InstanceFile{dir + "/" + file, data})
		}
	}
	return files, err
}

// caseNames returns the names of the directories below tests, sorted, except hidden
// ones. Files next to them are ignored. dir is the name of root in errors.
func caseNames(root *os.Root, dir string) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), "tests")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, pathError(dir+"/tests", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// readFile returns the contents of a file below root, or nil if it does not exist. The
// contents of an empty file are not nil. dir is the name of root in errors.
func readFile(root *os.Root, dir, name string) ([]byte, error) {
	shown := dir + "/" + name
	info, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, pathError(shown, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", shown)
	case info.Size() > maxFileSize:
		return nil, fmt.Errorf("%s: larger than %d MiB", shown, maxFileSize>>20)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return nil, pathError(shown, err)
	}
	return data, nil
}

// pathError returns an error about a file without the operation: NAME: cause.
func pathError(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// overlay is a file system in which some files are replaced. Only ReadFile
// returns the replaced contents. The other methods pass calls on, because
// embedding fs.FS alone would hide the optional interfaces of the file system.
type overlay struct {
	fs.FS
	replaced map[string][]byte
}

// ReadFile returns the replaced contents of a file, or else its contents.
func (o overlay) ReadFile(name string) ([]byte, error) {
	if data, ok := o.replaced[name]; ok {
		return data, nil
	}
	return fs.ReadFile(o.FS, name)
}

func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(o.FS, name) }
func (o overlay) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(o.FS, name) }
func (o overlay) Lstat(name string) (fs.FileInfo, error)     { return fs.Lstat(o.FS, name) }
func (o overlay) ReadLink(name string) (string, error)       { return fs.ReadLink(o.FS, name) }
func (o overlay) Glob(pattern string) ([]string, error)      { return fs.Glob(o.FS, pattern) }
