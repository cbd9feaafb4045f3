// Command testcluster is a Kubernetes control plane in one process, for tests and
// for trying things out: etcd, kube-apiserver, kube-controller-manager,
// kube-scheduler, and a fake kubelet that reports Pods as running without running
// containers.
//
// When the control plane is usable, the program prints the path of a kubeconfig
// to standard output. It stops on an interrupt and on SIGTERM. With
// -exit-with-stdin it also stops when its standard input is closed, which happens
// when the program that started it has ended.
//
// The version of Kubernetes must be set by the linker; `make cluster` and package
// harness do that.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/pequod-io/pequod/test/cluster/internal/controlplane"
	"github.com/pequod-io/pequod/test/cluster/internal/datadir"
)

// options are the flags of the program.
type options struct {
	dataDir       string
	port          int
	nodes         int
	exitWithStdin bool
	featureGates  string
}

func main() {
	opts, err := parse(os.Args[1:])
	if err == nil {
		err = run(opts)
	}
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcluster:", err)
		os.Exit(1)
	}
}

// parse parses the command line. It returns flag.ErrHelp for -help.
func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("testcluster", flag.ContinueOnError)
	flags.StringVar(&opts.dataDir, "data-dir", "", "`directory` that keeps the cluster's state; not given, it is thrown away at the end")
	flags.IntVar(&opts.port, "port", 0, "of the API server on 127.0.0.1; 0 is that of the last run in -data-dir, else any")
	flags.IntVar(&opts.nodes, "nodes", 2, "how many nodes the fake kubelet registers")
	flags.BoolVar(&opts.exitWithStdin, "exit-with-stdin", false, "stop when standard input ends")
	flags.StringVar(&opts.featureGates, "feature-gates", "", "of the API server, such as `NAME=true`")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if opts.nodes < 1 {
		return opts, fmt.Errorf("-nodes=%d: at least one is needed", opts.nodes)
	}
	return opts, nil
}

// run runs the control plane until a signal arrives, standard input is closed, or
// a component fails.
func run(opts options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	if opts.exitWithStdin {
		// The same program reads the output. A message that it can't read any more
		// must not end this process before it has deleted its data.
		signal.Ignore(syscall.SIGPIPE)
		go func() {
			// Whether by EOF or by an error: the program that held the input open
			// has ended.
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}
	dir, err := open(opts.dataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()

	begin := time.Now()
	fmt.Fprintf(os.Stderr, "starting a control plane; its log is %s\n", dir.Join("server.log"))
	err = controlplane.Run(ctx, controlplane.Options{
		Dir:       dir.Path,
		Temporary: dir.Temporary,
		Port:      opts.port,
		Nodes:     opts.nodes,
		Gates:     opts.featureGates,
	}, func(kubeconfig string) {
		fmt.Fprintf(os.Stderr, "ready after %.1fs\n\n    export KUBECONFIG=%s\n\n%s\n",
			time.Since(begin).Seconds(), kubeconfig, stopHint(dir))
		fmt.Println(kubeconfig)
	})
	if log := end(dir.Join("server.log")); err != nil && len(log) > 0 {
		fmt.Fprintf(os.Stderr, "the end of its log:\n%s\n", log)
	}
	return err
}

// end returns the last part of a file, or nothing if the file cannot be read: it
// is printed with an error that matters more.
func end(path string) []byte {
	const enough = 3 << 10
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	data = data[max(0, len(data)-enough):]
	return data[bytes.IndexByte(data, '\n')+1:]
}

// open locks the data directory, or creates a temporary one if path is empty.
func open(path string) (*datadir.Dir, error) {
	if path == "" {
		return datadir.Temporary(os.TempDir())
	}
	return datadir.Open(path)
}

// stopHint tells the user how to stop the control plane and what happens to its data.
func stopHint(dir *datadir.Dir) string {
	if dir.Temporary {
		return fmt.Sprintf("Ctrl-C (or kill %d) stops it and removes its data.", os.Getpid())
	}
	return fmt.Sprintf("Ctrl-C (or kill %d) stops it; its data stays in %s.", os.Getpid(), dir.Path)
}
