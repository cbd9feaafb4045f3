// Package install has the commands of cluster administrators: they install and
// uninstall the in-cluster applier, and generate the roles that it needs to
// execute graphs.
package install

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{
		newInstallCommand(env), newUninstallCommand(env),
		command.NewGroup("rbac", "Print the roles that graphs need", newRBACGenerateCommand(env)),
	}
}
