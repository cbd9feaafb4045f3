// Command demo shows Pequod from nothing to a WebService that is ready; `make
// demo-cluster` runs it. With -actions it shows the workflow of a database and an
// application that is restarted; `make demo-actions` runs that. It builds the programs and a
// Kubernetes control plane, installs what the demonstration needs, renders instances, applies
// their graphs and shows how they become ready. Everything that it does is a command that it
// prints, so that readers can repeat it.
//
// No container runs in that control plane. Our programs therefore run as local
// processes, with the service accounts that were installed and only the rights of
// those accounts.
//
// The program ends by itself and leaves nothing behind except compiled programs
// in bin/. With -keep everything keeps running until an interrupt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/pequod-io/pequod/test/postgres"
)

// main runs the demonstration. Its exit code is 0 if everything worked, 1 on an
// error, 2 on wrong arguments, and 130 after an interrupt, as shells report
// SIGINT. With -keep an interrupt is the normal end, so the exit code is 0.
func main() {
	d := demo{scenario: webService(), out: os.Stdout, err: os.Stderr}
	flag.BoolFunc("actions", "show Actions and Monitors instead of a WebService", func(string) error {
		d.scenario = actions(postgres.Create)
		return nil
	})
	flag.BoolVar(&d.keep, "keep", false, "keep everything running until an interrupt, to go on by hand")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks to stop. The second one ends the process, and the
	// control plane with it.
	context.AfterFunc(ctx, stop)
	err := d.run(ctx)
	switch {
	case ctx.Err() != nil && err != nil:
		fmt.Fprintln(os.Stderr, "demo: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}
