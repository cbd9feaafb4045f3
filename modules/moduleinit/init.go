// Package moduleinit makes a new module that renders, passes `pequod module
// vet` and `cue vet`, and has cases: [Init]. What it makes stands in template;
// the goldens of its cases are rendered.
package moduleinit

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/moduletest"
)

//go:embed template
var templates embed.FS

// maxName leaves room in the names that are made of a module's.
const maxName = 40

// CheckName says what is wrong with the name of a module.
func CheckName(name string) error {
	if msgs := validation.IsDNS1035Label(name); len(msgs) > 0 || len(name) > maxName {
		return fmt.Errorf("%q is no name of a module: at most %d lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit", name, maxName)
	}
	if slices.Contains([]string{"package", "import", "for", "in", "if", "let", "true", "false", "null", "bool", "int", "float", "string", "number", "bytes"}, packageName(name)) {
		return fmt.Errorf("%q is no name of a module: it is a word of CUE", name)
	}
	return nil
}

// packageName is the name of the CUE package: without dashes.
func packageName(name string) string { return strings.ReplaceAll(name, "-", "") }

// kindName is the kind of a module: web-shop makes WebShops.
func kindName(name string) string {
	var kind string
	for _, part := range strings.Split(name, "-") {
		if part != "" {
			kind += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return kind
}

// Init makes the module in a new directory of its name in dir, which is made
// where there is none, and gives the new directory. It appears whole or not at
// all.
func Init(ctx context.Context, dir, name string, o moduletest.Options) (string, error) {
	target := filepath.Join(dir, name)
	if err := CheckName(name); err != nil {
		return target, err
	}
	if _, err := os.Lstat(target); err == nil {
		return target, fmt.Errorf("%s: exists already", target)
	}
	made, err := makeDir(dir)
	if err == nil {
		err = stage(ctx, dir, target, name, o)
	}
	if err != nil {
		for _, d := range slices.Backward(made) {
			// Others may have put something there; then it stays.
			_ = os.Remove(d)
		}
	}
	return target, err
}

// makeDir makes a directory and those that it lies in, and gives those that it
// made, the outermost first.
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

// stage makes the module beside its place, and moves it there.
func stage(ctx context.Context, dir, target, name string, o moduletest.Options) error {
	staged, err := os.MkdirTemp(dir, "."+name+"-")
	if err != nil {
		return cause(dir, err)
	}
	defer os.RemoveAll(staged) // gone already where all went well
	if err := write(filepath.Join(staged, name), name); err != nil {
		return cause(target, err)
	}
	if err := goldens(ctx, filepath.Join(staged, name), o); err != nil {
		return err
	}
	// Rename doesn't replace a directory that has something in it.
	if err := os.Rename(filepath.Join(staged, name), target); err != nil {
		return cause(target, err)
	}
	return nil
}

// write fills the templates in.
func write(dir, name string) error {
	fill := strings.NewReplacer("PACKAGE", packageName(name), "KIND", kindName(name), "NAME", name)
	return fs.WalkDir(templates, "template", func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(strings.TrimPrefix(p, "template"), ".tmpl")))
		if e.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		data, err := templates.ReadFile(p)
		if err != nil {
			return err
		}
		return os.WriteFile(to, []byte(fill.Replace(string(data))), 0o644)
	})
}

// goldens renders the cases.
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

// cause says of which file an error is, as the user knows it.
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
