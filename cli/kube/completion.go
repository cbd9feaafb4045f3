package kube

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/settings"
)

// completionPatience bounds how long a shell waits for the names of graphs.
const completionTimeout = 3 * time.Second

// completeGraphs completes the names of the graphs that were applied in the
// namespace, but those that stand on the command line already. A cluster that
// can't be asked completes nothing.
func CompleteGraphNames(env command.Env, f *ConnectionFlags, namespace *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if err := settings.Apply(cmd, env); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		a, err := f.Connect(func(string) {})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completionTimeout)
		defer cancel()
		// Of inventories that can't be read, the others are still there.
		inventories, err := a.Inventories.List(ctx, *namespace)
		if err != nil && len(inventories) == 0 {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, inv := range inventories {
			if !slices.Contains(given, inv.Owner.Name) {
				names = append(names, inv.Owner.Name)
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
