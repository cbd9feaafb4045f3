package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	goflag "flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/pequod-io/pequod/applier/program"
)

// name is the name of the program, its user agent and, unless its graphs are restricted,
// its lease.
const name = "pequod-applier"

// settings has the values of the flags. parse fills it once, and nothing changes
// it afterwards except for the writer of the log, which run sets.
type settings struct {
	kubeconfig string // path; empty means the Pod's account or the default
	// The address of /healthz and /readyz; "0" disables them.
	probes   string           // address
	metrics  program.Metrics  // of the endpoint /metrics
	election program.Election // enabled by --leader-elect

	// The graphs that the program executes: those of a namespace, empty for all, whose
	// labels match the selector, nil for all.
	namespace string
	selector  labels.Selector

	// concurrent is the number of graphs in flight, at least 1. resync is the
	// interval of the flag --resync, at least a second. relist is that of --relist, 0
	// or at least a second.
	concurrent int
	resync     time.Duration
	relist     time.Duration
	// pruneGrace is how long an object stays after it left a graph; 0 is allowed.
	pruneGrace time.Duration
	// defaultServiceAccount is impersonated for graphs that name no account.
	// Empty means that every graph must name one. noCrossNamespace rejects graphs
	// with objects in other namespaces.
	defaultServiceAccount string
	noCrossNamespace      bool

	// log is set by the flags --zap-*.
	log     zap.Options
	version bool // print the version instead of running
}

// flagSet returns the flags, which set s to their defaults.
func (s *settings) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.Usage = func() {} // run prints errors in one line, without the usage
	fs.StringVar(&s.metrics.Address, "metrics-bind-address", ":8443", "address of the metrics endpoint; 0 disables it")
	fs.BoolVar(&s.metrics.Secure, "metrics-secure", true,
		"serve metrics over HTTPS, to clients that RBAC allows to get the URL /metrics; if false, over HTTP to everyone")
	fs.StringVar(&s.metrics.CertDir, "metrics-cert-path", "",
		"directory of the TLS certificate for metrics, reloaded when it changes; default: a self-signed certificate")
	fs.StringVar(&s.metrics.CertName, "metrics-cert-name", "tls.crt", "name of the certificate file in --metrics-cert-path")
	fs.StringVar(&s.metrics.KeyName, "metrics-cert-key", "tls.key", "name of the key file in --metrics-cert-path")
	fs.StringVar(&s.probes, "health-probe-bind-address", ":8081", "address of the probes /healthz and /readyz; 0 disables them")
	fs.BoolVar(&s.election.Enabled, "leader-elect", false, "elect a leader among several replicas")
	fs.StringVar(&s.election.Lease, "leader-election-id", "", "name of the lease; default: "+name+", followed by a hash of --namespace and --watch-label-selector if one of them is set")
	fs.StringVar(&s.election.Namespace, "leader-election-namespace", "", "namespace of the lease; default: the namespace of the Pod")
	fs.StringVar(&s.namespace, "namespace", "", "execute only the graphs of this namespace; default: all namespaces")
	fs.Func("watch-label-selector", "execute only the graphs whose labels match this selector, such as '!sharding.fluxcd.io/key'; default: all graphs",
		func(text string) (err error) {
			s.selector, err = labels.Parse(text)
			return err
		})
	fs.IntVar(&s.concurrent, "concurrent", 4, "number of graphs that are processed at the same time")
	fs.DurationVar(&s.resync, "resync", 5*time.Minute, "interval for reading objects that can't be watched, and for retrying graphs that failed permanently")
	fs.DurationVar(&s.relist, "relist", time.Hour, "longest interval for listing the objects of all graphs again, with one request per kind, in case that a watch missed a change; 0 disables it")
	fs.DurationVar(&s.pruneGrace, "prune-grace", time.Minute, "how long an object stays after it left a graph, so that another graph can take it over; 0 prunes at once")
	fs.StringVar(&s.defaultServiceAccount, "default-service-account", "pequod",
		"service account to impersonate for graphs that don't name one, in the namespace of the graph; if empty, every graph must name one")
	fs.BoolVar(&s.noCrossNamespace, "no-cross-namespace", false, "reject graphs with objects outside of their own namespace")
	fs.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file; default: the service account of the Pod, else $KUBECONFIG or ~/.kube/config")
	s.addLogFlags(fs)
	fs.BoolVar(&s.version, "version", false, "print the version")
	return fs
}

// addLogFlags adds the flags of the zap logger that are useful in production,
// with the names that controller-runtime gives them. controller-runtime defines
// them on a FlagSet of the standard library; the chosen ones are copied from
// there with defaults and usage texts of our own.
func (s *settings) addLogFlags(fs *pflag.FlagSet) {
	all := goflag.NewFlagSet(name, goflag.ContinueOnError)
	s.log.BindFlags(all)
	for _, f := range []struct{ name, value, usage string }{
		{"zap-log-level", "info", "log level: debug, info, error, panic, or a number above 0 for more verbose output than debug"},
		{"zap-encoder", "json", "log format: json or console"},
		{"zap-stacktrace-level", "panic", "lowest log level with stack traces: info, error or panic"},
		{"zap-time-encoding", "rfc3339", "time format of the log: epoch, millis, nano, iso8601, rfc3339 or rfc3339nano"},
	} {
		flag := all.Lookup(f.name)
		if err := flag.Value.Set(f.value); err != nil {
			panic(err) // the value is one of the constants above
		}
		flag.DefValue, flag.Usage = f.value, f.usage
		fs.AddGoFlag(flag)
	}
}

// parse parses and validates the command line. The flag set is returned even with
// an error, for --help. The error is pflag.ErrHelp if the help was asked for; it
// is not printed here.
func parse(args []string) (*settings, *pflag.FlagSet, error) {
	s := &settings{}
	fs := s.flagSet()
	if err := fs.Parse(args); err != nil {
		return nil, fs, err
	}
	return s, fs, s.validate(fs)
}

// validate checks the flags that can be wrong without a cluster. It returns the
// first error. Flags that have no effect without another one are errors, because
// the user expects an effect.
func (s *settings) validate(fs *pflag.FlagSet) error {
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument: %s", strings.Join(fs.Args(), " "))
	case s.election.Lease != "" && !s.election.Enabled:
		return fmt.Errorf("--leader-election-id goes with --leader-elect")
	case s.election.Lease != "" && len(validation.IsDNS1123Subdomain(s.election.Lease)) > 0:
		return fmt.Errorf("--leader-election-id: %q is not the name of a lease", s.election.Lease)
	case s.namespace != "" && len(validation.IsDNS1123Label(s.namespace)) > 0:
		return fmt.Errorf("--namespace: %q is not the name of a namespace", s.namespace)
	case s.concurrent < 1:
		return fmt.Errorf("--concurrent: must be at least 1, not %d", s.concurrent)
	case s.resync < time.Second:
		return fmt.Errorf("--resync: must be at least 1s, not %s", s.resync)
	case s.relist != 0 && s.relist < time.Second:
		return fmt.Errorf("--relist: must be 0 or at least 1s, not %s", s.relist)
	case s.pruneGrace < 0:
		return fmt.Errorf("--prune-grace: must not be negative, not %s", s.pruneGrace)
	case s.metrics.CertDir != "" && !s.metrics.Secure:
		return fmt.Errorf("--metrics-cert-path goes with --metrics-secure")
	case s.election.Namespace != "" && !s.election.Enabled:
		return fmt.Errorf("--leader-election-namespace goes with --leader-elect")
	case s.defaultServiceAccount != "" && len(validation.IsDNS1123Subdomain(s.defaultServiceAccount)) > 0:
		return fmt.Errorf("--default-service-account: %q is not the name of a service account", s.defaultServiceAccount)
	}
	return cmp.Or(
		checkAddress("--metrics-bind-address", s.metrics.Address),
		checkAddress("--health-probe-bind-address", s.probes),
		s.checkCertificate(),
	)
}

// lease returns the name of the lease. Appliers with the same lease are replicas, and one
// of them works at a time, so by default appliers of different graphs have different leases.
func (s *settings) lease() string {
	switch {
	case s.election.Lease != "":
		return s.election.Lease
	case s.namespace == "" && s.selector == nil:
		return name
	}
	selector := labels.Everything()
	if s.selector != nil {
		selector = s.selector
	}
	hash := sha256.Sum256([]byte(s.namespace + "\n" + selector.String()))
	return name + "-" + hex.EncodeToString(hash[:4])
}

// checkCertificate checks that the certificate's files exist. Otherwise the
// program would silently serve a self-signed certificate.
func (s *settings) checkCertificate() error {
	if s.metrics.CertDir == "" {
		return nil
	}
	for _, file := range []string{s.metrics.CertName, s.metrics.KeyName} {
		if _, err := os.Stat(filepath.Join(s.metrics.CertDir, file)); err != nil {
			return fmt.Errorf("--metrics-cert-path: %w", err)
		}
	}
	return nil
}

// checkAddress checks the address of an endpoint; "0" disables the endpoint. A
// name of a host is resolved.
func checkAddress(flag, address string) error {
	if address == "0" {
		return nil
	}
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}
