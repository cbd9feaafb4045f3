// Package pipeline has the commands that connect Pequod with the systems around it: code
// hosts, kustomize and GitOps tools. They are for pipelines, not for people at a terminal.
//
//   - comment.go: comment, a report as a comment on a pull request
//   - fn.go, resourcelist.go: fn, a KRM function
//
// The logic of comments is in cli/comments.
package pipeline

import (
	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
)

// Commands returns the commands of this package.
func Commands(env command.Env) []*cobra.Command {
	return []*cobra.Command{newCommentCommand(env), newFnCommand(env)}
}
