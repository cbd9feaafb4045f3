package incluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/pequod-io/pequod/internal/version"
)

// Exit codes.
const (
	ExitDone   = 0 // the program was asked to terminate, or printed help or version
	ExitFailed = 2 // it couldn't start, or couldn't continue
)

// gcPercent is the default of GOGC. The live heap is small, and most memory that
// many graphs allocate at once is soon garbage: collecting it sooner costs
// milliseconds and saves a quarter of the memory.
const gcPercent = 50

// Program is a program in a cluster.
type Program struct {
	// Name is the name of the program, its user agent and, unless its graphs are
	// restricted, its lease.
	Name string
	// About is the sentence that begins the help.
	About string
	// Graphless programs execute no graphs, and have no flags about them and no webhooks.
	Graphless bool
	// AddFlags adds the program's own flags to those of Settings, and may set fields of
	// Settings by them. Nil adds none.
	AddFlags func(*pflag.FlagSet, *Settings)
	// Check checks the values of the program's own flags. Nil accepts all.
	Check func() error
	// Serve runs the controllers until ctx is done. An error means that the program cannot
	// start or cannot continue.
	Serve func(ctx context.Context, config *rest.Config, log logr.Logger, s *Settings) error
}

// Run runs the program with command-line arguments and returns its exit code.
// Errors in the arguments are one line on stderr. All later errors are logged.
//
// It does, in this order: parse the arguments, answer --help and --version, set
// the target of the garbage collector, set up logging and signals, find the
// cluster, and serve until a signal arrives.
func (p Program) Run(args []string, stdout, stderr io.Writer) int {
	s, fs, err := p.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprintf(stdout, "%s\n\nUsage:\n  %s [flags]\n\nFlags:\n%s", p.About, p.Name, fs.FlagUsages())
		return ExitDone
	case err != nil:
		fmt.Fprintf(stderr, "%s: %s; see '%s --help'\n", p.Name, strings.ReplaceAll(err.Error(), "\n", " "), p.Name)
		return ExitFailed
	case s.version:
		fmt.Fprintln(stdout, p.Name, version.Program())
		return ExitDone
	}
	// No endpoint serves heap profiles. Their samples take a megabyte of memory.
	runtime.MemProfileRate = 0
	// The variable is for the administrator; the runtime has applied it already.
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	s.log.DestWriter = stderr
	log := zap.New(zap.UseFlagOptions(&s.log))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks to terminate; the second one kills the process.
	context.AfterFunc(ctx, stop)
	config, err := s.config()
	if err == nil {
		err = p.Serve(ctx, config, log, s)
	}
	if err != nil {
		log.Error(err, "ended")
		return ExitFailed
	}
	return ExitDone
}

// config returns the configuration for the cluster: --kubeconfig if it is set,
// else the service account of the Pod, else the kubeconfig that kubectl would
// use. In a Pod whose service account cannot be read, it returns that error and
// does not look for a kubeconfig.
func (s *Settings) config() (*rest.Config, error) {
	if s.kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = s.kubeconfig
	// The error below is clearer than client-go's warning on stderr.
	rules.WarnIfAllMissing = false
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("no cluster: not in a Pod, and no kubeconfig; name one with --kubeconfig")
	}
	return config, err
}
