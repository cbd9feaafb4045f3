// Package install has the commands of cluster administrators: they install and
// uninstall the in-cluster applier, and generate the roles that it needs to
// execute graphs.
//
//   - install.go, manifests.go: install, which applies config/applier as a graph
//   - uninstall.go: uninstall; the checks, the prompt and the order of the steps
//   - installed.go: the parts of an installation that exist in the cluster
//   - remover.go: reading and deleting single objects, also as a dry run
//   - removeapplier.go: the check of the lease; removal of the roles and the namespace
//   - releasegraphs.go: release of everything that graphs own
//   - rbac.go: rbac generate
//
// install takes the same way as apply: the installation is a graph. uninstall
// doesn't, because it must also remove installations that kubectl or a GitOps
// tool made, and must not touch anything else in the namespace.
//
//	pequod install
//	pequod rbac generate -f graphs/ -R > rbac.yaml
//	pequod uninstall --dry-run=server
//
// Rules for roles live in package applier/rbac, and the manifests in package
// config.
package install

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands "install" and "uninstall", and the group "rbac"
// with its subcommand.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{
		newInstallCommand(env), newUninstallCommand(env),
		command.NewGroup("rbac", "Print the roles that graphs need", newRBACGenerateCommand(env)),
	}
}
