// Package distribute has the commands that publish modules and bundles and fetch them.
//
//   - push.go: module push, a directory to a registry; metadata.go checks what it says
//   - pull.go: module pull, a published module to a directory
//   - list.go: module list, the versions of a module, or the modules of a namespace;
//     catalogue.go reads them
//   - show.go: module show, the inputs, versions and images of a module
//   - modulelock.go: module lock, the digests of the modules that a repository uses;
//     lockupgrade.go finds newer versions, and lockimpact.go compares instances
//   - modulevendor.go: module vendor, a copy of these modules in the repository
//   - sign.go: module sign, and --sign-key of others; verify.go: module verify; trust.go
//     reads keys for both
//   - modulemirror.go: module mirror, modules and bundles from place to place
//   - bundlepush.go: push, rendered instances to a registry; bundleparts.go renders them
//   - provenance.go: the statement about the origin of a bundle; rerender.go proves it,
//     with parameters.go and comparebundles.go
//   - bundlepull.go: pull, the files of a bundle to a directory
//
// A typical sequence:
//
//	pequod module push ./web-shop oci://ghcr.io/acme/web-shop:v1.4.0
//	pequod module list oci://ghcr.io/acme/web-shop
//	pequod module show oci://ghcr.io/acme/web-shop:v1.4.0
//	pequod render -f app.yaml -p oci://ghcr.io/acme/web-shop:v1.4.0
//
// The work is done by modules/oci, which reads and writes artifacts, and by
// modules/artifact and modules/bundle, which know what is in one. modules/lock and
// modules/pin keep and obey pequod.lock.
package distribute

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands "push" and "pull" for bundles.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newBundlePushCommand(env), newBundlePullCommand(env)}
}

// ModuleCommands returns the subcommands of "module" that this package has.
func ModuleCommands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newPushCommand(env), newPullCommand(env), newListCommand(env), newShowCommand(env), newModuleLockCommand(env), newModuleVendorCommand(env), newMirrorCommand(env), newSignCommand(env), newVerifyCommand(env)}
}
