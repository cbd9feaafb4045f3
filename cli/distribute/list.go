package distribute

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/output"
	"github.com/pequod-io/pequod/cli/platform"
	"github.com/pequod-io/pequod/cli/style"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/modules/oci"
)

// newListCommand returns the command "module list".
func newListCommand(env command.Env) *cobra.Command {
	var registry platform.RegistryFlags
	var format string
	cmd := &cobra.Command{
		Use:   "list PLACE",
		Short: "List the published versions of a module, or the modules of a namespace",
		Long: `List the versions of a module, the newest first. PLACE is oci://HOST/REPOSITORY,
oci-layout:DIR or FILE.oci.tar. If no module is published in the repository, the
command lists the newest versions of the modules in the repositories below it; this
needs a registry that lists its repositories.

Only descriptions are read, some hundred bytes for each version. Kinds and the oldest
version of Pequod come from custom: "pequod.io@v0" in cue.mod/module.cue.`,
		Example: `  pequod module list oci://ghcr.io/acme/web-shop
  pequod module list oci://registry.example.com/platforms -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			place, err := oci.ParseRef(args[0])
			if err != nil {
				return err
			}
			client, err := registry.Client()
			if err != nil {
				return err
			}
			return list(cmd.Context(), env, client, place.Place(), format)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	registry.AddFlags(cmd)
	command.Choice(cmd, &format, "output", "o", "", []string{"json", "yaml"}, "output format: json or yaml")
	return cmd
}

// list prints what is published at a place.
func list(ctx context.Context, env command.Env, client *oci.Client, place oci.Ref, format string) error {
	entries, isNamespace, err := catalogue(ctx, client, place)
	if err != nil {
		return err
	}
	if format != "" {
		return command.OutputError(output.Write(env.Out, format, entries))
	}
	header := []string{"VERSION", "KINDS", "PEQUOD", "SIZE"}
	if isNamespace {
		header = append([]string{"MODULE"}, header...)
	}
	var rows [][]string
	for _, e := range entries {
		minimum := "-"
		if e.Metadata != nil && e.MinimumPequod != "" {
			minimum = e.MinimumPequod
		}
		row := []string{e.Version, source.Escape(kindsText(e.Metadata), ""), source.Escape(minimum, ""), sizeText(e.Size)}
		if isNamespace {
			row = append([]string{e.Module}, row...)
		}
		rows = append(rows, row)
	}
	_, err = io.WriteString(env.Out, style.Table(header, rows, style.TerminalWidth(env.Out)))
	return command.OutputError(err)
}
