package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestDefaults checks the names and the defaults of the flags, which deployed
// manifests rely on.
func TestDefaults(t *testing.T) {
	want := map[string]string{
		"metrics-bind-address":      ":8443",
		"metrics-secure":            "true",
		"metrics-cert-path":         "",
		"metrics-cert-name":         "tls.crt",
		"metrics-cert-key":          "tls.key",
		"health-probe-bind-address": ":8081",
		"leader-elect":              "false",
		"leader-election-id":        "",
		"leader-election-namespace": "",
		"namespace":                 "",
		"watch-label-selector":      "",
		"concurrent":                "4",
		"resync":                    "5m0s",
		"relist":                    "1h0m0s",
		"prune-grace":               "1m0s",
		"default-service-account":   "pequod",
		"no-cross-namespace":        "false",
		"kubeconfig":                "",
		"zap-log-level":             "info",
		"zap-encoder":               "json",
		"zap-stacktrace-level":      "panic",
		"zap-time-encoding":         "rfc3339",
		"version":                   "false",
	}
	got := map[string]string{}
	new(settings).flagSet().VisitAll(func(f *pflag.Flag) { got[f.Name] = f.DefValue })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	s, _, err := parse(nil)
	if err != nil || s.resync != 5*time.Minute || !s.metrics.Secure {
		t.Errorf("without flags: %+v, %v", s, err)
	}
}

// TestFlagsDocumented checks that the documentation lists every flag with its default.
func TestFlagsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	new(settings).flagSet().VisitAll(func(f *pflag.Flag) { want[f.Name] = f.DefValue })
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`([^`]*)`)? *\\|").FindAllStringSubmatch(string(text), -1) {
		got[row[1]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-program +docs/operations.md):\n%s", diff)
	}
}

// TestRun checks the output and the exit code of everything that needs no cluster.
func TestRun(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const help = "; see 'pequod-applier --help'\n"
	for _, test := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--version"}, 0, "pequod-applier dev\n", ""},
		{[]string{"--cluster"}, 2, "", "pequod-applier: unknown flag: --cluster" + help},
		{[]string{"-x"}, 2, "", "pequod-applier: unknown shorthand flag: 'x' in -x" + help},
		{[]string{"run"}, 2, "", "pequod-applier: unexpected argument: run" + help},
		{[]string{"--concurrent=0"}, 2, "", "pequod-applier: --concurrent: must be at least 1, not 0" + help},
		{[]string{"--resync=0"}, 2, "", "pequod-applier: --resync: must be at least 1s, not 0s" + help},
		{[]string{"--relist=1ms"}, 2, "", "pequod-applier: --relist: must be 0 or at least 1s, not 1ms" + help},
		{[]string{"--prune-grace=-1s"}, 2, "", "pequod-applier: --prune-grace: must not be negative, not -1s" + help},
		{[]string{"--resync=soon"}, 2, "", `pequod-applier: invalid argument "soon" for "--resync" flag: time: invalid duration "soon"` + help},
		{[]string{"--zap-log-level=loud"}, 2, "", `pequod-applier: invalid argument "loud" for "--zap-log-level" flag: invalid log level "loud"` + help},
		{[]string{"--zap-encoder=xml"}, 2, "", `pequod-applier: invalid argument "xml" for "--zap-encoder" flag: invalid encoder value "xml"` + help},
		{[]string{"--metrics-bind-address=8443"}, 2, "", "pequod-applier: --metrics-bind-address: address 8443: missing port in address" + help},
		{[]string{"--health-probe-bind-address=:http0"}, 2, "", "pequod-applier: --health-probe-bind-address: lookup tcp/http0: unknown port" + help},
		{[]string{"--metrics-cert-path=/none"}, 2, "", "pequod-applier: --metrics-cert-path: stat /none/tls.crt: no such file or directory" + help},
		{[]string{"--metrics-cert-path=/c", "--metrics-secure=false"}, 2, "", "pequod-applier: --metrics-cert-path goes with --metrics-secure" + help},
		{[]string{"--leader-election-id=x"}, 2, "", "pequod-applier: --leader-election-id goes with --leader-elect" + help},
		{[]string{"--leader-elect", "--leader-election-id=A b"}, 2, "", `pequod-applier: --leader-election-id: "A b" is not the name of a lease` + help},
		{[]string{"--namespace=shop.web"}, 2, "", `pequod-applier: --namespace: "shop.web" is not the name of a namespace` + help},
		{[]string{"--watch-label-selector=a in b"}, 2, "", `pequod-applier: invalid argument "a in b" for "--watch-label-selector" flag: unable to parse requirement: found 'b' expected: '('` + help},
		{[]string{"--leader-election-namespace=x"}, 2, "", "pequod-applier: --leader-election-namespace goes with --leader-elect" + help},
		{[]string{"--default-service-account=A b"}, 2, "", `pequod-applier: --default-service-account: "A b" is not the name of a service account` + help},
	} {
		var stdout, stderr bytes.Buffer
		code := run(test.args, &stdout, &stderr)
		if code != test.code || stdout.String() != test.stdout || stderr.String() != test.stderr {
			t.Errorf("%v: exit code %d\nstdout: %sstderr: %s", test.args, code, &stdout, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--help"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 || !bytes.Contains(stdout.Bytes(), []byte("--no-cross-namespace ")) {
		t.Errorf("--help: exit code %d\n%s%s", code, &stdout, &stderr)
	}
	// Later errors are logged, as one JSON object per line.
	stdout.Reset()
	if code := run([]string{"--zap-time-encoding=epoch"}, &stdout, &stderr); code != 2 || stdout.Len() > 0 ||
		!bytes.Contains(stderr.Bytes(), []byte(`"msg":"ended","error":"no cluster: not in a Pod, and no kubeconfig; name one with --kubeconfig"}`)) {
		t.Errorf("without a cluster: exit code %d\n%s%s", code, &stdout, &stderr)
	}
}

// Appliers of different graphs never take each other for replicas, and those of the same
// graphs always do.
func TestLease(t *testing.T) {
	lease := func(args ...string) string {
		s, _, err := parse(append(args, "--leader-elect"))
		if err != nil {
			t.Fatal(err)
		}
		return s.lease()
	}
	if got := lease(); got != "pequod-applier" {
		t.Errorf("lease %s", got)
	}
	if got := lease("--namespace=shop", "--leader-election-id=mine"); got != "mine" {
		t.Errorf("lease %s", got)
	}
	different := map[string][]string{}
	for _, args := range [][]string{
		{"--namespace=shop"}, {"--namespace=other"}, {"--watch-label-selector=a=1,b=2"}, {"--watch-label-selector=a=1"},
		{"--namespace=shop", "--watch-label-selector=a=1"},
	} {
		got := lease(args...)
		if other, taken := different[got]; taken || !strings.HasPrefix(got, "pequod-applier-") {
			t.Errorf("lease of %v: %s, which is also that of %v", args, got, other)
		}
		different[got] = args
	}
	if a, b := lease("--watch-label-selector=a=1,b=2"), lease("--watch-label-selector= b = 2, a = 1"); a != b {
		t.Errorf("leases of the same graphs: %s and %s", a, b)
	}
}
