package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// newCommand gives the whole command tree.
func newCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pequod",
		Short: "Turn platform modules written in CUE into CRDs, and instances into ResourceGraphs",
		Long: `Pequod turns a platform, described once as a CUE module, into the CRD that
developers use, and developers' instances into ResourceGraphs: Kubernetes
resources with their dependencies, readiness gates and policy results. It also
executes ResourceGraphs in a cluster.

Every flag has a default in pequod.yaml (looked for in the working directory and
above it) and in the environment: --eval-timeout is eval-timeout in the file and
PEQUOD_EVAL_TIMEOUT in the environment. Flags win over the environment, and the
environment over the file.

Exit codes: 0 yes; 1 the answer is no (broken input, a violation, a difference,
not ready in time); 2 there is no answer (usage, a missing file, I/O, a cluster
that can't be reached, a module that had to be ended).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	cmd.CompletionOptions.HiddenDefaultCmd = false
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())
	})
	crd := &cobra.Command{
		Use:   "crd",
		Short: "Generate and check CRDs",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	crd.AddCommand(newCRDGenerate(s), newCRDCheck(s))
	module := &cobra.Command{
		Use:   "module",
		Short: "Make, check and test modules",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	module.AddCommand(newModuleInit(s), newModuleTest(s), newModuleVet(s))
	cmd.AddCommand(crd, module, newRender(s), newValidate(s), newGraph(s), newDiff(s), newApply(s), newDelete(s), newStatus(s), newAdopt(s),
		newRBAC(s), newInstall(s), newUninstall(s), newVersion(s))
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return configure(cmd, s) }
	return cmd
}
