package kube

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/settings"
)

// completionTimeout limits how long a shell waits for completions. A user who
// waits longer types the name.
const completionTimeout = 3 * time.Second

// CompleteGraphNames returns a completion function for the names of graphs that
// have an inventory in *namespace, without the names that are already on the
// command line. It completes nothing if the cluster can't be reached in time.
func CompleteGraphNames(env command.Env, f *ConnectionFlags, namespace *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		// cobra completes without running PersistentPreRunE, which would do this.
		if err := settings.Apply(cmd, env); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		f.DefaultNamespace(namespace)
		a, err := f.Connect(func(string) {})
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		ctx := cmd.Context()
		if ctx == nil { // set only by ExecuteContext
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completionTimeout)
		defer cancel()
		// List returns the readable inventories along with the error of the others.
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
