// Package review has the commands that show a change before it is made. None of
// them writes to a cluster, and only diff with -f reads from one.
//
//   - render.go: render, instances as ResourceGraphs or plain manifests
//   - validate.go: validate, the problems of instances as a report
//   - graph.go: graph, a drawing of the nodes and edges of graphs
//   - review.go: review, with its flags and formats; reviewbase.go renders the base
//   - diff.go: diff, with its flags and the choice between three modes
//   - diffobjects.go, livediff.go: diff of two sets of objects, or with a cluster
//   - diffbundle.go: bundles as sets of objects
//   - diffimpact.go: diff --impact, two versions of modules
//   - rollout.go, rolloutprint.go: rollout plan, the batches of a new version
//
// A typical review of a pull request:
//
//	pequod validate -f apps/ -p platforms/
//	pequod diff main:manifests manifests -o markdown > comment.md
//	pequod diff --impact -p ./web --against ../main/web -f apps/
//
// Rendering is in package render, reading of the input in cli/input, the comparison
// in package review, and the drawing of graphs in cli/graphview.
package review

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package: render, validate, graph, review, diff and
// rollout.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newRenderCommand(env), newValidateCommand(env), newGraphCommand(env), newReviewCommand(env), newDiffCommand(env), newRolloutCommand(env)}
}
