package author

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules"
	"github.com/pequod-io/pequod/modules/moduleinit"
	"github.com/pequod-io/pequod/modules/moduletest"
)

// moduleInitOptions are the flags of module init. The name of the module is its
// only argument.
type moduleInitOptions struct {
	// LimitFlags limit the evaluation of the new module: init renders its test
	// cases to write their expected graphs.
	platform.LimitFlags
	// dir is the parent directory of the module, by default the working
	// directory. It is created if it doesn't exist.
	dir string
	// manifests is the path of YAML files, and chart that of a Helm chart, from which
	// the module is made. crd is the path of a CRD, and embedded the name of an embedded
	// module. At most one of the four is not empty.
	manifests, chart, crd, embedded string
}

// newModuleInitCommand returns the command "module init". The argument is a new
// name, so there is nothing to complete.
func newModuleInitCommand(env command.Env) *cobra.Command {
	o := &moduleInitOptions{}
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Create a module that renders, with test cases",
		Long: `Create a module in a new directory NAME: a schema, a template, test cases for
'pequod module test', and in pequod.cue the schema of graphs for editors and 'cue
vet'. The kind is NAME in CamelCase. Existing files are never changed.

With --from-manifests, the module renders the objects of existing YAML files, each as a
node whose id is its kind and name. The images of workloads, and their replicas where
they are set, become fields of the schema with the values of the manifests as defaults;
everything else stays as it is, names included. The module has no dependencies between
nodes. Status and other fields that the API server writes are left out. The values of
Secrets are never copied: a Secret with values becomes a reference to one that exists.

With --from-chart, the objects are the output of 'helm template NAME DIR' with the
default values of the chart. Hooks and CRDs in the directory crds are left out. Helm
must be installed.

With --from-crd, the module has the kind of a CustomResourceDefinition and the schema of its
spec, with defaults, bounds and enumerations, in the version in which objects are stored.
The file may also have a resource type: an object with name, version and schema, the
OpenAPI schema of the spec. Rules of CEL are kept as attributes. Formats of strings, and what
else the module has no place for, are left out and listed. The module renders a ConfigMap until
you replace it.

With --from-embedded, the module is a copy of one that is part of the program, with its
test cases. A copy with the same name takes the place of the embedded module, given
with -p; one with another name has a kind of its own.`,
		Example: `  pequod module init web-shop
  pequod module init web-shop --dir modules

  # Start from objects that exist
  pequod module init web-shop --from-manifests manifests/
  pequod module init web-shop --from-chart charts/web-shop
  pequod module init database-cluster --from-crd databaseclusters.yaml
  pequod module init webservice --from-embedded webservice`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	o.LimitFlags.AddFlags(cmd)
	cmd.Flags().StringVar(&o.dir, "dir", ".", "parent directory of the module; created if it does not exist")
	command.Must(cmd.MarkFlagDirname("dir"))
	cmd.Flags().StringVar(&o.manifests, "from-manifests", "", "start with the objects of a YAML file, of a directory with its subdirectories, or of REV:PATH")
	cmd.Flags().StringVar(&o.chart, "from-chart", "", "start with the objects of the Helm chart in a directory")
	command.Must(cmd.MarkFlagDirname("from-chart"))
	cmd.Flags().StringVar(&o.crd, "from-crd", "", "start with the kind and the schema of the CustomResourceDefinition in a YAML file, or of REV:PATH")
	cmd.Flags().StringVar(&o.embedded, "from-embedded", "", "start with a copy of an embedded module: "+strings.Join(modules.Embedded(), ", "))
	command.Must(cmd.RegisterFlagCompletionFunc("from-embedded", cobra.FixedCompletions(modules.Embedded(), cobra.ShellCompDirectiveNoFileComp)))
	cmd.MarkFlagsMutuallyExclusive("from-manifests", "from-chart", "from-crd", "from-embedded")
	return cmd
}

// run creates the module and prints the next command to try. A module that does
// not pass its own test cases is not left behind: moduleinit.Init removes the
// directories that it created.
func (o *moduleInitOptions) run(ctx context.Context, env command.Env, name string) error {
	from, err := o.source(ctx, env, name)
	if err != nil {
		return err
	}
	made, err := moduleinit.Init(ctx, o.dir, name, from, moduletest.Options{Limits: o.Limits()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "created %s; try\n  pequod module test %[1]s --coverage\n", filepath.ToSlash(made))
	if err != nil {
		return command.OutputError(err)
	}
	return nil
}
