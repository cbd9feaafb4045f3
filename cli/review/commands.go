// Package review has the commands that show a change before it is made: they
// render and validate instances, draw graphs, and compare manifests, modules and
// graphs with each other or with a cluster. None of them writes to a cluster.
package review

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newRenderCommand(env), newValidateCommand(env), newGraphCommand(env), newDiffCommand(env)}
}
