package author

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/modules/moduleinit"
	"github.com/pequod-io/pequod/modules/moduletest"
)

type moduleInitOptions struct {
	platform.LimitFlags
	dir string
}

func newModuleInitCommand(env command.Env) *cobra.Command {
	o := &moduleInitOptions{}
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Make a new module that renders, with cases",
		Long: `Make a new module in a new directory NAME: a schema, what it renders to, cases
for 'pequod module test', and in pequod.cue the schema of graphs for editors and
'cue vet'. The kind is NAME in CamelCase. Nothing that exists is touched.`,
		Example: `  pequod module init web-shop
  pequod module init web-shop --dir modules`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	o.LimitFlags.AddFlags(cmd)
	cmd.Flags().StringVar(&o.dir, "dir", ".", "make the module in this directory, which is made where there is none")
	command.Must(cmd.MarkFlagDirname("dir"))
	return cmd
}

func (o *moduleInitOptions) run(ctx context.Context, env command.Env, name string) error {
	made, err := moduleinit.Init(ctx, o.dir, name, moduletest.Options{Limits: o.Limits()})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "made %s; try\n  pequod module test %[1]s --coverage\n", filepath.ToSlash(made))
	if err != nil {
		return command.OutputError(err)
	}
	return nil
}
