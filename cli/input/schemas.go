package input

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/source/yamlfile"
	"github.com/pequod-io/pequod/render/kinds"
	"github.com/pequod-io/pequod/render/ownkinds"
)

// SchemaFlags are the flags that name definitions of custom kinds. The kinds of
// Kubernetes itself are built in.
type SchemaFlags struct {
	// CRDs are the values of --crd: files and directories.
	Crds []string
}

// AddFlags registers the flags with cmd. A directory of --crd is always read with
// its subdirectories, unlike one of -f.
func (f *SchemaFlags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.Crds, "crd", nil,
		"CustomResourceDefinitions of custom kinds: a file or a directory; can be repeated")
	command.Must(cmd.RegisterFlagCompletionFunc("crd", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveDefault
	}))
}

// LoadSchemas returns the schemas of the kinds of Kubernetes, of Pequod, and of those defined
// by --crd. Its errors have the position of the definition.
func (f *SchemaFlags) LoadSchemas(ctx context.Context) (*kinds.Catalog, error) {
	c := ownkinds.Catalog()
	err := f.EachCRD(ctx, func(content []byte) error {
		custom, err := kinds.ParseDefinition(content)
		if err == nil {
			err = c.Add(custom)
		}
		return err
	})
	return c, err
}

// EachCRD calls visit with the JSON of each definition, in the order of --crd. A
// value that is given twice is visited once. EachCRD adds the position of the
// definition to an error of visit, and stops at the first error. A file or
// directory without any definition is an error: it is probably the wrong path.
func (f *SchemaFlags) EachCRD(ctx context.Context, visit func(content []byte) error) error {
	for i, name := range f.Crds {
		if slices.Contains(f.Crds[:i], name) {
			continue
		}
		paths, err := filesIn(name)
		if err != nil {
			return err
		}
		// The count is per value of --crd: each one must contribute something.
		found := 0
		for _, file := range paths {
			n, err := visitDefinitions(ctx, file, visit)
			if err != nil {
				return err
			}
			found += n
		}
		if found == 0 {
			return fmt.Errorf("%s: no CustomResourceDefinition in it", name)
		}
	}
	return nil
}

// filesIn returns the file of a name, or the YAML files of a directory and of those below it.
func filesIn(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, command.FileError(err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	return files.FindYAML(name, true)
}

// visitDefinitions calls visit with each definition of a file and returns their
// number. It skips other documents.
func visitDefinitions(ctx context.Context, file string, visit func(content []byte) error) (int, error) {
	data, err := files.ReadFile(ctx, file)
	if err != nil {
		return 0, err
	}
	docs, err := yamlfile.Parse(filepath.ToSlash(file), data)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, doc := range docs {
		if !kinds.IsDefinition(doc.Text("apiVersion"), doc.Text("kind")) {
			continue
		}
		var content json.RawMessage
		if err := doc.Decode(&content); err != nil {
			return 0, err
		}
		if err := visit(content); err != nil {
			return 0, doc.Problem(err)
		}
		n++
	}
	return n, nil
}
