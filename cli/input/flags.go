// Package input turns the files of -f into instances and graphs.
//
//   - flags.go, instances.go: the files, and the instances in them
//   - clusters.go: the clusters of --for-each, and each instance once for each of them
//   - pipeline.go: rendering of all instances on all processors
//   - objects.go: the objects of one document, for comparisons
//   - graphs.go: ResourceGraphs as they are, instances rendered to graphs
//   - checks.go: the problems found, for reports and exit codes
//   - schemas.go: the definitions of --crd
//   - nodecheck.go: the check of rendered objects against schemas
//
// Commands that only render call [RenderAll], which keeps one file at a time in
// memory. Commands that execute or compare graphs call [RenderFlags.ReadGraphs],
// which returns all graphs at once.
//
// A wrong instance never ends a run: its problems are collected, and the other
// instances are still rendered. An error is returned only if there is no answer,
// such as for a file that can't be read.
//
// The package doesn't write output, apart from problems on stderr, and doesn't
// connect to a cluster.
package input

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
)

// FileFlags are the flags that name input files. Commands with only these flags,
// such as delete, read names from the files and render nothing.
type FileFlags struct {
	// Filenames are the values of -f: files, directories, or "-" for stdin.
	Filenames []string
	// recursive is -R: it includes the subdirectories of directories. By default
	// only the files at the top of a directory are read.
	recursive bool
	// Namespace is for graphs and instances without metadata.namespace.
	Namespace string
}

// AddFlags registers the flags with cmd. The help is for instances; see
// AlsoGraphs.
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
	// Files named directly are taken whatever their extension is.
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
		found, err := files.FindYAML(name, f.recursive)
		if err != nil {
			return nil, err
		}
		found = slices.DeleteFunc(found, files.IsToolConfig)
		if len(found) == 0 && !f.recursive && hasNested(name) {
			return nil, fmt.Errorf("%s: only its subdirectories have YAML files; use --recursive to read them", name)
		}
		paths = append(paths, found...)
	}
	// Duplicates are compared by cleaned path; links to one file stay two files.
	seen := map[string]bool{}
	return slices.DeleteFunc(paths, func(file string) bool {
		again := seen[file]
		seen[file] = true
		return again
	}), nil
}

// hasNested reports whether subdirectories of a directory have input files. A directory
// that can't be read has none.
func hasNested(dir string) bool {
	found, err := files.FindYAML(dir, true)
	return err == nil && slices.ContainsFunc(found, func(file string) bool { return !files.IsToolConfig(file) })
}

// AlsoGraphs changes the help of the flags for a command that takes graphs as
// well as instances. Call it after AddFlags.
func (f *FileFlags) AlsoGraphs(cmd *cobra.Command) {
	cmd.Flags().Lookup("filename").Usage = "ResourceGraphs and instances: a YAML or JSON file, a directory, or - for stdin; can be repeated"
	cmd.Flags().Lookup("namespace").Usage = "namespace of graphs and instances without metadata.namespace"
}
