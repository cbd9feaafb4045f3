package main

import (
	"cmp"
	goflag "flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/pequod-io/pequod/applier/program"
)

const name = "pequod-applier"

// settings are what the flags say.
type settings struct {
	kubeconfig            string
	probes                string
	metrics               program.Metrics
	election              program.Election
	concurrent            int
	resync                time.Duration
	defaultServiceAccount string
	noCrossNamespace      bool
	log                   zap.Options
	version               bool
}

// flagSet gives the flags with their defaults, bound to s.
func (s *settings) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.Usage = func() {} // whoever parses says what is wrong, in one line
	fs.StringVar(&s.metrics.Address, "metrics-bind-address", ":8443", "address of /metrics; 0 turns it off")
	fs.BoolVar(&s.metrics.Secure, "metrics-secure", true,
		"serve /metrics by HTTPS, to those who may get that URL by the cluster's RBAC; otherwise by HTTP, to everybody")
	fs.StringVar(&s.metrics.CertDir, "metrics-cert-path", "",
		"directory of the certificate of /metrics, read again when it changes; by default it is self-signed")
	fs.StringVar(&s.metrics.CertName, "metrics-cert-name", "tls.crt", "file of the certificate in --metrics-cert-path")
	fs.StringVar(&s.metrics.KeyName, "metrics-cert-key", "tls.key", "file of its key in --metrics-cert-path")
	fs.StringVar(&s.probes, "health-probe-bind-address", ":8081", "address of /healthz and /readyz; 0 turns them off")
	fs.BoolVar(&s.election.Enabled, "leader-elect", false, "let one of several replicas work, the one that holds the lease "+name)
	fs.StringVar(&s.election.Namespace, "leader-election-namespace", "", "namespace of the lease; by default that of the Pod")
	fs.IntVar(&s.concurrent, "concurrent", 4, "how many graphs are looked at at the same time")
	fs.DurationVar(&s.resync, "resync", 5*time.Minute, "how often what can't be watched is read, and what failed for good is tried again")
	fs.StringVar(&s.defaultServiceAccount, "default-service-account", "pequod",
		"service account of a graph's namespace that is impersonated for graphs that name none; empty for none, so that every graph must name one")
	fs.BoolVar(&s.noCrossNamespace, "no-cross-namespace", false, "refuse graphs with objects outside their namespace")
	fs.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig file; by default the Pod's service account, else $KUBECONFIG or ~/.kube/config")
	s.addLogFlags(fs)
	fs.BoolVar(&s.version, "version", false, "print the version")
	return fs
}

// addLogFlags takes those flags of the log that say something to users.
func (s *settings) addLogFlags(fs *pflag.FlagSet) {
	all := goflag.NewFlagSet(name, goflag.ContinueOnError)
	s.log.BindFlags(all)
	for _, f := range []struct{ name, value, usage string }{
		{"zap-log-level", "info", "log level: debug, info, error, panic, or a number above 0 for more than debug"},
		{"zap-encoder", "json", "log format: json or console"},
		{"zap-stacktrace-level", "panic", "log level from which on stack traces are logged: info, error or panic"},
		{"zap-time-encoding", "rfc3339", "times in the log: epoch, millis, nano, iso8601, rfc3339 or rfc3339nano"},
	} {
		flag := all.Lookup(f.name)
		if err := flag.Value.Set(f.value); err != nil {
			panic(err) // the value is ours
		}
		flag.DefValue, flag.Usage = f.value, f.usage
		fs.AddGoFlag(flag)
	}
}

// parse reads the command line.
func parse(args []string) (*settings, *pflag.FlagSet, error) {
	s := &settings{}
	fs := s.flagSet()
	if err := fs.Parse(args); err != nil {
		return nil, fs, err
	}
	return s, fs, s.validate(fs)
}

func (s *settings) validate(fs *pflag.FlagSet) error {
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument: %s", strings.Join(fs.Args(), " "))
	case s.concurrent < 1:
		return fmt.Errorf("--concurrent: must be at least 1, not %d", s.concurrent)
	case s.resync < time.Second:
		return fmt.Errorf("--resync: must be at least 1s, not %s", s.resync)
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

// checkCertificate refuses files that aren't there: the metrics would be served
// with a certificate that nobody expects.
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

func checkAddress(flag, address string) error {
	if address == "0" {
		return nil
	}
	if _, err := net.ResolveTCPAddr("tcp", address); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}
