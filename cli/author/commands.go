// Package author has the commands of platform authors: they create, check and
// test modules, and generate and compare the CRDs of platforms. All of them work
// offline.
//
//   - crdgenerate.go: crd generate, the CRDs of platforms
//   - crdcheck.go: crd check, the breaking changes between two sets of CRDs
//   - moduleimport.go: module import, CUE types from CRDs
//   - moduleinit.go: module init, a new module from a template; initsource.go reads
//     the manifests or the chart that it starts from
//   - moduletest.go: module test, test cases with expected graphs or errors
//   - modulevet.go: module vet, static checks and checks of rendered samples
//   - monitortest.go: monitor test, the rules of a Monitor that fire for recorded answers
//
// A typical sequence for a new platform:
//
//	pequod module init web-shop
//	pequod module test web-shop --coverage
//	pequod module vet ./web-shop
//	pequod crd generate -p ./web-shop --output-dir crds
//	pequod crd check main:crds crds
//
// The package parses flags, orders the steps and prints. The checks themselves
// live in modules/crdtypes, modules/moduleinit, modules/moduletest, modules/vet,
// modules/crd and crdgen/compat. Modules are evaluated only under the limits of --eval-timeout
// and --eval-memory, because a module may not terminate.
package author

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the command groups "crd", "module" and "monitor" with their subcommands.
// The groups themselves only print their help.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{
		command.NewGroup("crd", "Generate and check CRDs", newCRDGenerateCommand(env), newCRDCheckCommand(env)),
		command.NewGroup("module", "Create, check, test and publish modules",
			newModuleImportCommand(env), newModuleInitCommand(env), newModuleTestCommand(env), newModuleVetCommand(env)),
		command.NewGroup("monitor", "Test Monitors", newMonitorTestCommand(env)),
	}
}
