package kinds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/input"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/crdgen/explain"
	"github.com/pequod-io/pequod/crdgen/jsonschema"
	"github.com/pequod-io/pequod/crdgen/openapi"
	"github.com/pequod-io/pequod/internal/problem"
)

// schemaOptions are the flags of schema.
type schemaOptions struct {
	// Flags are -p, the platforms to write schemas of. Without it, these are the embedded
	// modules.
	platform.Flags
	// apiVersion selects the version that is printed without outputDir.
	apiVersion string
	// outputDir gets a file for each kind.
	outputDir string
	// layout is one of jsonschema.Layouts.
	layout string
	// modelines are files and directories with instances that get modelines.
	modelines []string
	// prune removes schemas of other kinds. check only lists what would change.
	prune, check bool
}

// newSchemaCommand returns the command "schema".
func newSchemaCommand(env command.Env) *cobra.Command {
	o := &schemaOptions{}
	cmd := &cobra.Command{
		Use:   "schema {KIND | --output-dir DIR}",
		Short: "Print or write JSON schemas of kinds for editors and validators",
		Long: `Print the JSON schema of a kind, or write those of all kinds to a directory: all served
versions of the kinds of the platforms of -p, or without -p of the embedded modules, and
of Pequod's own kinds, ResourceGraph and Transform. Editors with yaml-language-server
complete and check the fields of instances with them, and kubeconform validates files.

The files have the names that kubeconform expects, KIND-GROUP-VERSION.json, or with
--layout crds-catalog those of Datree's CRDs-catalog, GROUP/KIND_VERSION.json.
all.json is a schema for files with any of the kinds. It checks each document by its
apiVersion and kind, and accepts other kinds.

--modeline adds a comment to each instance in the given files and directories, which
names the schema for editors, or changes the one that is there. Other tools ignore it.

Only files that this command wrote are overwritten or, with --prune, removed. With
--check nothing is written: files that are out of date are listed, and the exit code is
1. Rules between fields are not part of the schemas; validate checks them.`,
		Example: `  # Write the schemas of a repository's platforms, and name them in its instances
  pequod schema -p platforms/ --output-dir .schemas --modeline apps/

  # Validate with kubeconform
  kubeconform -schema-location default \
    -schema-location '.schemas/{{.ResourceKind}}{{.KindSuffix}}.json' apps/

  pequod schema webservice > webservice.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(args); err != nil {
				return err
			}
			if len(args) > 0 {
				return o.print(cmd.Context(), env, args[0])
			}
			return o.write(cmd.Context(), env)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	o.AddFlags(cmd)
	fl := cmd.Flags()
	fl.StringVar(&o.outputDir, "output-dir", "", "write the schemas of all kinds to this directory")
	command.Choice(cmd, &o.layout, "layout", "", jsonschema.Layouts()[0], jsonschema.Layouts(), "names of the files: "+strings.Join(jsonschema.Layouts(), ", "))
	fl.StringArrayVar(&o.modelines, "modeline", nil, "instances to name the schemas in, with the comment of yaml-language-server: a file or a directory; can be repeated")
	fl.BoolVar(&o.prune, "prune", false, "with --output-dir, remove schemas that an earlier run wrote and this run does not")
	fl.BoolVar(&o.check, "check", false, "with --output-dir, list the files that this command would write or remove, and write nothing")
	fl.StringVar(&o.apiVersion, "api-version", "", "with KIND, group and version of the schema, such as pequod.io/v1alpha1")
	command.Must(cmd.MarkFlagDirname("output-dir"))
	command.Must(cmd.RegisterFlagCompletionFunc("api-version", cobra.NoFileCompletions))
	return cmd
}

// validate refuses flags without an effect.
func (o *schemaOptions) validate(args []string) error {
	switch {
	case len(args) == 0 && o.outputDir == "":
		return errors.New("specify a kind, or a directory for all schemas with --output-dir")
	case len(args) > 0 && o.outputDir != "":
		return errors.New("--output-dir writes the schemas of all kinds; leave out the kind")
	case o.outputDir == "" && (len(o.modelines) > 0 || o.prune || o.check):
		return errors.New("--modeline, --prune and --check require --output-dir")
	case o.outputDir != "" && o.apiVersion != "":
		return errors.New("--api-version requires a kind")
	}
	return nil
}

// print prints the schema of one kind.
func (o *schemaOptions) print(ctx context.Context, env command.Env, name string) error {
	kinds, err := load(ctx, &o.Flags, true)
	if err != nil {
		return err
	}
	kind, path, err := explain.Parse(kinds, name, o.apiVersion)
	if err == nil && len(path) > 0 {
		err = fmt.Errorf("%q is a field; specify a kind", name)
	}
	if err != nil {
		return command.ExitError{Code: command.ExitNo, Causes: []error{err}}
	}
	data, err := jsonschema.Schema(kind)
	if err != nil {
		return err
	}
	_, err = env.Out.Write(data)
	return command.OutputError(err)
}

// write writes all schemas and then the modelines. Everything is read and compared before
// the first file changes.
func (o *schemaOptions) write(ctx context.Context, env command.Env) error {
	kinds, err := load(ctx, &o.Flags, len(o.Platforms) == 0)
	if err != nil {
		return err
	}
	wanted, err := o.schemas(kinds)
	if err != nil {
		return err
	}
	changes, err := planDirectory(o.outputDir, wanted, o.prune)
	if err != nil {
		return err
	}
	edited, err := o.planModelines(ctx, kinds)
	if err != nil {
		return err
	}
	changes = append(changes, edited...)
	if !o.check {
		return apply(changes)
	}
	var stale problem.List
	for _, c := range changes {
		stale = append(stale, problem.Problem{Position: problem.Position{File: c.file}, Rule: problem.RuleStale, Message: c.why})
	}
	if err := input.PrintStale(env, stale); err != nil {
		return err
	}
	return command.ExitWith(command.ProblemsExitCode(stale))
}

// schemas returns the contents of the files by their paths in the directory.
func (o *schemaOptions) schemas(kinds []openapi.Kind) (map[string][]byte, error) {
	layout := jsonschema.Layout(o.layout)
	files := map[string][]byte{}
	for _, k := range kinds {
		name := layout.File(k)
		if _, twice := files[name]; twice {
			return nil, fmt.Errorf("two kinds have the file %s; choose --layout %s", name, jsonschema.Catalog)
		}
		data, err := jsonschema.Schema(k)
		if err != nil {
			return nil, err
		}
		files[name] = data
	}
	ordered := slices.SortedFunc(slices.Values(kinds), func(a, b openapi.Kind) int {
		return strings.Compare(a.APIVersion()+a.Kind, b.APIVersion()+b.Kind)
	})
	all, err := jsonschema.All(ordered, layout)
	files[jsonschema.AllFile] = all
	return files, err
}
