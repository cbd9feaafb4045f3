// Package input turns the files of -f into instances and graphs.
//
//   - flags.go, instances.go: the files, and the instances in them
//   - pipeline.go: rendering of all instances on all processors
//   - graphs.go: ResourceGraphs as they are, instances rendered to graphs
//   - checks.go: the problems found, for reports and exit codes
//   - schemas.go, nodecheck.go: --crd, and the check of rendered objects against
//     the schemas of their kinds
//
// A wrong instance never ends a run: its problems are collected, and the other
// instances are still rendered. An error is returned only if there is no answer,
// such as for a file that can't be read.
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

// FileFlags are the flags that name input files.
type FileFlags struct {
	// Filenames are the values of -f: files, directories, or "-" for stdin.
	Filenames []string
	recursive bool
	// Namespace is for graphs and instances without metadata.namespace.
	Namespace string
}

// AddFlags registers the flags with cmd.
func (f *FileFlags) AddFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.Filenames, "filename", "f", nil, "instances: a YAML or JSON file, a directory, or - for stdin; can be repeated")
	fl.BoolVarP(&f.recursive, "recursive", "R", false, "process the directories of -f recursively")
	fl.StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of instances without metadata.namespace")
	command.Must(cmd.RegisterFlagCompletionFunc("filename", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}))
	command.Must(cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions))
}

// Paths returns the input files in the order of the flags, and by name within a
// directory. A file that is named several times is returned once. Paths fails for
// files that don't exist, before any file is read.
func (f *FileFlags) Paths() ([]string, error) {
	if len(f.Filenames) == 0 {
		return nil, errors.New("no instances given; specify files or directories with -f, or - for stdin")
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

// AlsoGraphs changes the help of the flags for a command that takes graphs as well
// as instances.
func (f *FileFlags) AlsoGraphs(cmd *cobra.Command) {
	cmd.Flags().Lookup("filename").Usage = "ResourceGraphs and instances: a YAML or JSON file, a directory, or - for stdin; can be repeated"
	cmd.Flags().Lookup("namespace").Usage = "namespace of graphs and instances without metadata.namespace"
}
