// Command buildcluster builds the test control plane, unless that was done
// already, and prints the path of its binary. `make cluster` runs that. With
// -kubectl it builds kubectl as well, which some tests need.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/pequod-io/pequod/test/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	both := flag.Bool("kubectl", false, "build kubectl, too")
	flag.Parse()
	binary, err := server.Build(ctx, os.Stderr)
	if err == nil && *both {
		_, err = server.Kubectl(ctx, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(binary)
}
