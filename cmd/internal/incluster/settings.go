package incluster

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

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/pequod-io/pequod/applier/controller"
	"github.com/pequod-io/pequod/applier/program"
	"github.com/pequod-io/pequod/internal/version"
)

// Settings has the values of the flags that all programs have. Parse fills it once, and
// nothing changes it afterwards except for the writer of the log, which Run sets.
type Settings struct {
	// Probes is the address of /healthz and /readyz; "0" disables them.
	Probes   string
	Metrics  program.Metrics  // of the endpoint /metrics
	Election program.Election // enabled by --leader-elect
	Webhooks Webhooks         // enabled by --webhooks
	// Graphs are the options of the execution of graphs that flags set.
	Graphs controller.Options

	name       string // of the program
	kubeconfig string // path; empty means the Pod's account or the default
	// log is set by the flags --zap-*.
	log     zap.Options
	version bool // print the version instead of running
}

// flagSet returns the flags of the program, which set s to their defaults.
func (p Program) flagSet(s *Settings) *pflag.FlagSet {
	s.name = p.Name
	fs := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	fs.Usage = func() {} // Run prints errors in one line, without the usage
	lease := ", followed by a hash of the flags that restrict its graphs if one of them is set"
	if p.Graphless {
		lease = ""
	}
	s.addProcessFlags(fs, lease)
	if !p.Graphless {
		s.addGraphFlags(fs)
		s.Webhooks.addFlags(fs)
	}
	if p.AddFlags != nil {
		p.AddFlags(fs, s)
	}
	fs.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file; default: the service account of the Pod, else $KUBECONFIG or ~/.kube/config")
	s.addLogFlags(fs)
	fs.BoolVar(&s.version, "version", false, "print the version")
	return fs
}

// addProcessFlags adds the flags of the metrics endpoint, the probes and leader election.
func (s *Settings) addProcessFlags(fs *pflag.FlagSet, lease string) {
	fs.StringVar(&s.Metrics.Address, "metrics-bind-address", ":8443", "address of the metrics endpoint; 0 disables it")
	fs.BoolVar(&s.Metrics.Secure, "metrics-secure", true,
		"serve metrics over HTTPS, to clients that RBAC allows to get the URL /metrics; if false, over HTTP to everyone")
	fs.StringVar(&s.Metrics.CertDir, "metrics-cert-path", "",
		"directory of the TLS certificate for metrics, reloaded when it changes; default: a self-signed certificate")
	fs.StringVar(&s.Metrics.CertName, "metrics-cert-name", "tls.crt", "name of the certificate file in --metrics-cert-path")
	fs.StringVar(&s.Metrics.KeyName, "metrics-cert-key", "tls.key", "name of the key file in --metrics-cert-path")
	fs.StringVar(&s.Probes, "health-probe-bind-address", ":8081", "address of the probes /healthz and /readyz; 0 disables them")
	fs.BoolVar(&s.Election.Enabled, "leader-elect", false, "elect a leader among several replicas")
	fs.StringVar(&s.Election.Lease, "leader-election-id", "",
		"name of the lease; default: "+s.name+lease)
	fs.StringVar(&s.Election.Namespace, "leader-election-namespace", "", "namespace of the lease; default: the namespace of the Pod")
}

// addGraphFlags adds the flags of the execution of graphs.
func (s *Settings) addGraphFlags(fs *pflag.FlagSet) {
	fs.Func("watch-label-selector", "execute only the graphs whose labels match this selector, such as '!sharding.fluxcd.io/key'; default: all graphs",
		func(text string) (err error) {
			s.Graphs.Selector, err = labels.Parse(text)
			return err
		})
	fs.IntVar(&s.Graphs.Concurrent, "concurrent", 4, "number of graphs that are processed at the same time")
	fs.DurationVar(&s.Graphs.Resync, "resync", 5*time.Minute, "interval for reading objects that can't be watched, and for retrying graphs that failed permanently")
	fs.DurationVar(&s.Graphs.Relist, "relist", time.Hour, "longest interval for listing the objects of all graphs again, with one request per kind, in case that a watch missed a change; 0 disables it")
	fs.DurationVar(&s.Graphs.PruneGrace, "prune-grace", time.Minute, "how long an object stays after it left a graph, so that another graph can take it over; 0 prunes at once")
	fs.BoolVar(&s.Graphs.NoCrossNamespace, "no-cross-namespace", false, "reject graphs with objects outside of their own namespace")
}

// addLogFlags adds the flags of the zap logger that are useful in production,
// with the names that controller-runtime gives them. controller-runtime defines
// them on a FlagSet of the standard library; the chosen ones are copied from
// there with defaults and usage texts of our own.
func (s *Settings) addLogFlags(fs *pflag.FlagSet) {
	all := goflag.NewFlagSet(s.name, goflag.ContinueOnError)
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

// Parse parses and validates the command line. The flag set is returned even with
// an error, for --help. The error is pflag.ErrHelp if the help was asked for; it
// is not printed here.
func (p Program) Parse(args []string) (*Settings, *pflag.FlagSet, error) {
	s := &Settings{}
	fs := p.flagSet(s)
	if err := fs.Parse(args); err != nil {
		return nil, fs, err
	}
	err := s.validateProcess(fs)
	if err == nil && !p.Graphless {
		err = cmp.Or(s.validateGraphs(), s.Webhooks.check(fs))
	}
	if err == nil && p.Check != nil {
		err = p.Check()
	}
	return s, fs, err
}

// maxShards limits --shards: the lease of each shard is renewed every two seconds.
const maxShards = 64

// validateProcess checks the flags of the process that can be wrong without a cluster. It
// returns the first error. Flags that have no effect without another one are errors, because
// the user expects an effect.
func (s *Settings) validateProcess(fs *pflag.FlagSet) error {
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument: %s", strings.Join(fs.Args(), " "))
	case s.Election.Lease != "" && !s.Election.Enabled:
		return fmt.Errorf("--leader-election-id goes with --leader-elect")
	case s.Election.Lease != "" && len(validation.IsDNS1123Subdomain(s.Election.Lease)) > 0:
		return fmt.Errorf("--leader-election-id: %q is not the name of a lease", s.Election.Lease)
	case s.Election.Shards > 1 && !s.Election.Enabled:
		return fmt.Errorf("--shards goes with --leader-elect")
	case s.Election.Shards > maxShards || fs.Lookup("shards") != nil && s.Election.Shards < 1:
		return fmt.Errorf("--shards: must be between 1 and %d, not %d", maxShards, s.Election.Shards)
	case s.Metrics.CertDir != "" && !s.Metrics.Secure:
		return fmt.Errorf("--metrics-cert-path goes with --metrics-secure")
	case s.Election.Namespace != "" && !s.Election.Enabled:
		return fmt.Errorf("--leader-election-namespace goes with --leader-elect")
	}
	return cmp.Or(
		checkAddress("--metrics-bind-address", s.Metrics.Address),
		checkAddress("--health-probe-bind-address", s.Probes),
		s.checkCertificate(),
	)
}

// validateGraphs checks the flags of the execution of graphs in the same way.
func (s *Settings) validateGraphs() error {
	switch {
	case s.Graphs.Namespace != "" && len(validation.IsDNS1123Label(s.Graphs.Namespace)) > 0:
		return fmt.Errorf("--namespace: %q is not the name of a namespace", s.Graphs.Namespace)
	case s.Graphs.Concurrent < 1:
		return fmt.Errorf("--concurrent: must be at least 1, not %d", s.Graphs.Concurrent)
	case s.Graphs.Resync < time.Second:
		return fmt.Errorf("--resync: must be at least 1s, not %s", s.Graphs.Resync)
	case s.Graphs.Relist != 0 && s.Graphs.Relist < time.Second:
		return fmt.Errorf("--relist: must be 0 or at least 1s, not %s", s.Graphs.Relist)
	case s.Graphs.PruneGrace < 0:
		return fmt.Errorf("--prune-grace: must not be negative, not %s", s.Graphs.PruneGrace)
	case s.Graphs.DefaultServiceAccount != "" && len(validation.IsDNS1123Subdomain(s.Graphs.DefaultServiceAccount)) > 0:
		return fmt.Errorf("--default-service-account: %q is not the name of a service account", s.Graphs.DefaultServiceAccount)
	}
	return nil
}

// Program returns the options of package program that the flags set.
func (s *Settings) Program(log logr.Logger, scheme *runtime.Scheme) program.Options {
	election := s.Election
	election.Lease = s.lease()
	return program.Options{
		Name: s.name, Version: version.Program(), Log: log, Scheme: scheme,
		Namespace: s.Graphs.Namespace, Metrics: s.Metrics, Probes: s.Probes, Election: election,
	}
}

// lease returns the name of the lease. Programs with the same lease are replicas, and one
// of them works at a time, so by default programs of different graphs have different leases.
func (s *Settings) lease() string {
	switch {
	case s.Election.Lease != "":
		return s.Election.Lease
	case s.Graphs.Namespace == "" && s.Graphs.Selector == nil:
		return s.name
	}
	selector := labels.Everything()
	if s.Graphs.Selector != nil {
		selector = s.Graphs.Selector
	}
	hash := sha256.Sum256([]byte(s.Graphs.Namespace + "\n" + selector.String()))
	return s.name + "-" + hex.EncodeToString(hash[:4])
}

// checkCertificate checks that the certificate's files exist. Otherwise the
// program would silently serve a self-signed certificate.
func (s *Settings) checkCertificate() error {
	if s.Metrics.CertDir == "" {
		return nil
	}
	for _, file := range []string{s.Metrics.CertName, s.Metrics.KeyName} {
		if _, err := os.Stat(filepath.Join(s.Metrics.CertDir, file)); err != nil {
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
