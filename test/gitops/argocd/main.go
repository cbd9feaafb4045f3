// Command argocd runs the components of Argo CD that sync Applications, each as a process
// with its own flags, and the store that they share:
//
//	argocd argocd-application-controller [FLAG ...]
//	argocd argocd-repo-server [FLAG ...]
//	argocd argocd-cmp-server [FLAG ...]
//	argocd redis HOST:PORT
//
// The store keeps everything in memory.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	plugins "github.com/argoproj/argo-cd/v3/cmd/argocd-cmp-server/commands"
	repositories "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a component until it ends.
func run(component string, args []string) error {
	components := map[string]func() *cobra.Command{
		"argocd-application-controller": controller.NewCommand,
		"argocd-repo-server":            repositories.NewCommand,
		"argocd-cmp-server":             plugins.NewCommand,
	}
	if command, ok := components[component]; ok {
		c := command()
		c.SetArgs(args)
		return c.Execute()
	}
	if component != "redis" || len(args) != 1 {
		return fmt.Errorf("unknown component: %s %q", component, args)
	}
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(args[0]); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	defer server.Close()
	// Without this, locks and cached values would never expire.
	for range time.Tick(time.Second) {
		server.FastForward(time.Second)
	}
	return nil
}
