package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"github.com/pequod-io/pequod/internal/problem"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/render"
)

// maxInput bounds one input file, in bytes.
const maxInput = 256 << 20

// inputFlags name the instances.
type inputFlags struct {
	filenames []string
	recursive bool
	namespace string
}

func (f *inputFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.filenames, "filename", "f", nil, "instances: a YAML or JSON file, a directory, or - for stdin; repeatable")
	fl.BoolVarP(&f.recursive, "recursive", "R", false, "look for instances in subdirectories too")
	fl.StringVarP(&f.namespace, "namespace", "n", "default", "namespace of instances that name none")
	must(cmd.RegisterFlagCompletionFunc("filename", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}))
	must(cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions))
}

// files lists the input files, each once, in the order of the flags and by name
// within a directory. Everything that can't be there fails before anything is
// read.
func (f *inputFlags) files() ([]string, error) {
	if len(f.filenames) == 0 {
		return nil, errors.New("no instances given; name files or directories with -f, or - for stdin")
	}
	var files []string
	for _, name := range f.filenames {
		if name == "-" {
			files = append(files, name)
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, ioError(err)
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(name))
			continue
		}
		err = filepath.WalkDir(name, func(p string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && p != filepath.Clean(name) && p != name && !f.recursive:
				return fs.SkipDir
			case e.IsDir() || !isYAML(p) || isToolFile(e.Name()):
				return nil
			}
			files = append(files, p)
			return nil
		})
		if err != nil {
			return nil, ioError(err)
		}
	}
	var once []string
	seen := map[string]bool{}
	for _, file := range files {
		if !seen[file] {
			seen[file] = true
			once = append(once, file)
		}
	}
	return once, nil
}

// isToolFile tells files that lie among instances but configure a tool.
func isToolFile(name string) bool {
	return slices.Contains([]string{configFile, "kustomization.yaml", "kustomization.yml"}, name)
}

// readFile reads a whole file of bounded size.
func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, ioError(err)
	}
	defer file.Close() // nothing was written
	return readBounded(name, file)
}

func readBounded(name string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	switch {
	case err != nil:
		return nil, ioError(err)
	case len(data) > maxInput:
		return nil, fmt.Errorf("%s: larger than %d MiB", name, maxInput>>20)
	}
	return data, nil
}

// readInput reads one of the files of -f, and says how messages call it.
func readInput(file string, stdin io.Reader) (shown string, data []byte, err error) {
	if file == "-" {
		data, err = readBounded("stdin", stdin)
		return "stdin", data, err
	}
	data, err = readFile(file)
	return filepath.ToSlash(file), data, err
}

// input is one instance, or what is wrong with what should have been one.
type input struct {
	file     string
	instance *render.Instance
	problems problem.List
}

// instances reads the files one after the other. An error of reading ends the
// sequence and lands in failed.
func instances(files []string, stdin io.Reader, failed *error) iter.Seq[input] {
	return func(yield func(input) bool) {
		for _, file := range files {
			shown, data, err := readInput(file, stdin)
			if err != nil {
				*failed = err
				return
			}
			for in, problems := range render.Instances(shown, data) {
				if !yield(input{shown, in, problems}) {
					return
				}
			}
		}
	}
}
