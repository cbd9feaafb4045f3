package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/actions"
	"github.com/pequod-io/pequod/cli/author"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/distribute"
	"github.com/pequod-io/pequod/cli/install"
	"github.com/pequod-io/pequod/cli/kinds"
	"github.com/pequod-io/pequod/cli/mcp"
	"github.com/pequod-io/pequod/cli/pipeline"
	"github.com/pequod-io/pequod/cli/review"
	"github.com/pequod-io/pequod/cli/run"
	"github.com/pequod-io/pequod/cli/settings"
	"github.com/pequod-io/pequod/cli/ui"
	"github.com/pequod-io/pequod/internal/version"
)

// Command returns the command tree without a process around it. The generator of
// the command reference walks it. Its commands read nothing and print nothing.
func Command() *cobra.Command {
	return newRootCommand(command.Env{
		In: strings.NewReader(""), Out: io.Discard, Err: io.Discard,
		Getenv: func(string) (string, bool) { return "", false },
	})
}

// displayName returns how users call the program, given its file, if it is a plugin of another
// program: "kubectl pequod" for kubectl-pequod. Otherwise it returns "".
func displayName(file string) string {
	name := strings.TrimSuffix(filepath.Base(file), ".exe")
	if name == "kubectl-pequod" || name == "flux-pequod" {
		return strings.Replace(name, "-", " ", 1)
	}
	return ""
}

// newRootCommand returns the whole command tree. A tree serves one command line:
// the commands store their flags in it. Errors and usage are silenced, because
// execute prints them.
func newRootCommand(env command.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pequod",
		Short: "Turn platform modules written in CUE into CRDs, and instances into ResourceGraphs",
		Long: `Pequod turns a platform, described once as a CUE module, into the CRD that
developers use, and developers' instances into ResourceGraphs: Kubernetes
resources with their dependencies, readiness gates and policy results. It also
executes ResourceGraphs in a cluster.

Every flag can have a default in a file pequod.yaml and in the environment:
--eval-timeout is eval-timeout in the file and PEQUOD_EVAL_TIMEOUT in the
environment. Flags win over the environment, and the environment over files.
The file of a repository is looked for in the working directory and above it, up
to the git root or the home directory. One of another user is an error, as in a
container with a mounted checkout, unless PEQUOD_TRUST_UID is the ID of that user.
It cannot set flags that choose the cluster, the identity, the image to install
or consent, such as --kubeconfig and --yes, and its paths cannot leave the
repository. Your own file, ~/.config/pequod/config.yaml or pequod/config.yaml in
$XDG_CONFIG_HOME, can set all flags; the file of a repository wins over it.
'pequod config view' prints the settings and their origins.

Output is colored on terminals. NO_COLOR and CLICOLOR=0 turn colors off, and
CLICOLOR_FORCE=1 turns them on for files and pipes.

Exit codes: 0 yes; 1 the answer is no (broken input, a violation, a difference,
not ready in time); 2 there is no answer (usage, a missing file, I/O, a cluster
that can't be reached, a module that had to be ended).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version.Program(),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// Defaults are filled in after the flags are parsed and before the
		// command looks at them.
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return settings.Apply(cmd, env) },
	}
	cmd.Flags().Bool("version", false, "print the version") // cobra's own flag would have the name -v, too
	cmd.SetIn(env.In)
	cmd.SetOut(env.Out)
	cmd.SetErr(env.Err)
	cmd.CompletionOptions.HiddenDefaultCmd = false
	// The usage is long, so an error of flags only points to it.
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// The flags of an unknown subcommand are unknown, too.
		if args := cmd.Flags().Args(); cmd.HasSubCommands() && len(args) > 0 {
			return cmd.ValidateArgs(args)
		}
		return fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())
	})
	cmd.AddCommand(author.Commands(env)...)
	for _, group := range cmd.Commands() {
		if group.Name() == "module" {
			group.AddCommand(distribute.ModuleCommands(env)...)
		}
	}
	cmd.AddCommand(review.Commands(env)...)
	cmd.AddCommand(kinds.Commands(env)...)
	cmd.AddCommand(mcp.Commands(env)...)
	cmd.AddCommand(run.Commands(env)...)
	cmd.AddCommand(actions.Commands(env)...)
	cmd.AddCommand(ui.Commands(env)...)
	cmd.AddCommand(install.Commands(env)...)
	cmd.AddCommand(distribute.Commands(env)...)
	cmd.AddCommand(pipeline.Commands(env)...)
	cmd.AddCommand(newConfigCommand(env), newVersionCommand(env))
	suggest(cmd)
	command.ShowGroups(cmd)
	return cmd
}
