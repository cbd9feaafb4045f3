// Package moduleinit creates new modules: see [Init]. A new module renders, passes
// `pequod module vet` and `cue vet`, and has test cases.
//
// The files of the module are the templates in the directory template. A module of
// [Manifests] or of a [Definition] has a schema, a template and a test case of its own
// instead, and a copy of an [Embedded] module has only its files. The goldens of the test cases are rendered
// when the module is created.
//
//   - init.go creates the directory, all of it or nothing
//   - embedded.go copies embedded modules
//   - manifests.go reads objects, and nodeid.go names their nodes
//   - write.go writes the schema and the template for objects
//   - definition.go takes over the kind of a CRD, and schema.go writes its schema
//
// The package reads no manifests from disk and does not run Helm.
package moduleinit

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/internal/lazyregexp"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/moduletest"
	"github.com/pequod-io/pequod/render"
)

// templates are the files of a new module. In names, the suffix .tmpl is removed;
// in contents, PACKAGE, KIND and NAME are replaced; see write.
//
//go:embed template
var templates embed.FS

// maxName is the maximum length of a module's name, in bytes. The names of
// objects and labels that are derived from it must not exceed 63 characters, so
// 23 are left for what a module appends.
const maxName = 40

// stagedPosition matches the positions in a problem that are of no use to the author of
// manifests, because the files are removed.
var stagedPosition = lazyregexp.New(`(?m)^\.\./\.\./render\.cue:\d+:\d+: |, rendering instance\.yaml:\d+:\d+$`)

// CheckName returns an error if name is not valid as the name of a module. The
// name becomes a directory, a CUE package and, in CamelCase, a kind, so it must
// be valid for all three.
func CheckName(name string) error {
	if msgs := validation.IsDNS1035Label(name); len(msgs) > 0 || len(name) > maxName {
		return fmt.Errorf("%q is no name of a module: at most %d lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit", name, maxName)
	}
	if slices.Contains([]string{"package", "import", "for", "in", "if", "let", "true", "false", "null", "bool", "int", "float", "string", "number", "bytes"}, packageName(name)) {
		return fmt.Errorf("%q is no name of a module: it is a word of CUE", name)
	}
	return nil
}

// packageName returns the name of the CUE package: the module's name without
// dashes.
func packageName(name string) string { return strings.ReplaceAll(name, "-", "") }

// Source is the origin of a new module: [Manifests], a [Definition] or [Embedded].
type Source interface {
	// files returns the files of the module by name.
	files(name string) (map[string][]byte, error)
}

// Init creates the module in a new directory dir/name and returns that directory.
// It creates dir if necessary. The module appears completely or not at all: after
// an error, all directories that Init created are removed again, unless others have
// put files into them. If from is nil, the module is that of the templates.
func Init(ctx context.Context, dir, name string, from Source, o moduletest.Options) (string, error) {
	target := filepath.Join(dir, name)
	if err := CheckName(name); err != nil {
		return target, err
	}
	if from == nil {
		from = templateFiles{}
	}
	files, err := from.files(name)
	if err != nil {
		return target, err
	}
	if _, err := os.Lstat(target); err == nil {
		return target, fmt.Errorf("%s: exists already", target)
	}
	made, err := makeDir(dir)
	if err == nil {
		_, must := from.(*Manifests)
		err = stage(ctx, dir, target, name, files, must, o)
	}
	if err != nil {
		for _, d := range slices.Backward(made) {
			// Remove fails if others have put files there; then the directory stays.
			_ = os.Remove(d)
		}
	}
	return target, err
}

// makeDir creates a directory with its missing parents, and returns the directories
// that it created, the outermost first. It returns them also with an error.
func makeDir(dir string) ([]string, error) {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%s: not a directory", dir)
	case err == nil:
		return nil, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, cause(dir, err)
	}
	made, err := makeDir(filepath.Dir(dir))
	if err != nil {
		return made, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return made, cause(dir, err)
	}
	return append(made, dir), nil
}

// stage creates a module of the given files in a temporary directory in dir and renames
// it to target. If must is true, its test case basic must render.
func stage(ctx context.Context, dir, target, name string, files map[string][]byte, must bool, o moduletest.Options) error {
	staged, err := os.MkdirTemp(dir, "."+name+"-")
	if err != nil {
		return cause(dir, err)
	}
	defer os.RemoveAll(staged) // empty after a successful rename
	if err := write(filepath.Join(staged, name), files); err != nil {
		return cause(target, err)
	}
	if err := goldens(ctx, filepath.Join(staged, name), o); err != nil {
		return err
	}
	if must {
		problems, err := os.ReadFile(filepath.Join(staged, name, "tests", "basic", "error.txt"))
		if err == nil {
			text := stagedPosition().ReplaceAllString(strings.TrimSpace(string(problems)), "")
			return fmt.Errorf("the module of these objects does not render:\n%s", text)
		}
	}
	// Rename does not replace a directory that is not empty.
	if err := os.Rename(filepath.Join(staged, name), target); err != nil {
		return cause(target, err)
	}
	return nil
}

// write writes files to a new directory, whose parent must exist.
func write(dir string, files map[string][]byte) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, files[name], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// templateFiles are the templates.
type templateFiles struct{}

// files implements [Source]: it returns the filled-in templates.
func (templateFiles) files(name string) (map[string][]byte, error) {
	fill := strings.NewReplacer("PACKAGE", packageName(name), "KIND", render.KindName(name), "NAME", name)
	all := map[string][]byte{}
	err := fs.WalkDir(templates, "template", func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := templates.ReadFile(p)
		all[strings.TrimSuffix(strings.TrimPrefix(p, "template/"), ".tmpl")] = []byte(fill.Replace(string(data)))
		return err
	})
	return all, err
}

// goldens renders the test cases of the module and writes their goldens. A case
// that does not render gets its problems as a golden. The first evaluation of the
// new module also shows that it loads; an error removes it again.
func goldens(ctx context.Context, dir string, o moduletest.Options) error {
	m, err := moduletest.Open(ctx, &modules.Opener{}, dir)
	if err != nil {
		return err
	}
	defer m.Close() // it was only read
	results, err := moduletest.Run(ctx, []*moduletest.Module{m}, o)
	if err != nil {
		return err
	}
	for i := range results {
		if _, err := results[i].Update(); err != nil {
			return err
		}
	}
	return nil
}

// cause returns an error about a file without the operation: NAME: cause.
func cause(name string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
