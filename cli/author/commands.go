// Package author has the commands of platform authors: they create, check and
// test modules, and generate and compare the CRDs of platforms. All of them work
// offline. The checks themselves live in modules/..., crdgen and crdgen/compat.
package author

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{
		command.NewGroup("crd", "Generate and check CRDs", newCRDGenerateCommand(env), newCRDCheckCommand(env)),
		command.NewGroup("module", "Create, check and test modules",
			newModuleInitCommand(env), newModuleTestCommand(env), newModuleVetCommand(env)),
	}
}
