package input

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
)

// inputFlags name the instances.
type FileFlags struct {
	Filenames []string
	recursive bool
	Namespace string
}

func (f *FileFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.Filenames, "filename", "f", nil, "instances: a YAML or JSON file, a directory, or - for stdin; repeatable")
	fl.BoolVarP(&f.recursive, "recursive", "R", false, "look for instances in subdirectories too")
	fl.StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of instances that name none")
	command.Must(cmd.RegisterFlagCompletionFunc("filename", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}))
	command.Must(cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions))
}

// files lists the input files, each once, in the order of the flags and by name
// within a directory. Everything that can't be there fails before anything is
// read.
func (f *FileFlags) Paths() ([]string, error) {
	if len(f.Filenames) == 0 {
		return nil, errors.New("no instances given; name files or directories with -f, or - for stdin")
	}
	var paths []string
	for _, name := range f.Filenames {
		if name == "-" {
			paths = append(paths, name)
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, command.FileError(err)
		}
		if !info.IsDir() {
			paths = append(paths, filepath.Clean(name))
			continue
		}
		err = filepath.WalkDir(name, func(p string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && p != filepath.Clean(name) && p != name && !f.recursive:
				return fs.SkipDir
			case e.IsDir() || !files.IsYAML(p) || files.IsToolConfig(e.Name()):
				return nil
			}
			paths = append(paths, p)
			return nil
		})
		if err != nil {
			return nil, command.FileError(err)
		}
	}
	var once []string
	seen := map[string]bool{}
	for _, file := range paths {
		if !seen[file] {
			seen[file] = true
			once = append(once, file)
		}
	}
	return once, nil
}
