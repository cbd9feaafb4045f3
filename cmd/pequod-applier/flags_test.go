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

	"github.com/pequod-io/pequod/cmd/internal/incluster"
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
		"webhooks":                  "false",
		"webhook-bind-address":      ":9443",
		"webhook-cert-path":         "",
		"webhook-namespace":         "",
		"namespace":                 "",
		"watch-label-selector":      "",
		"concurrent":                "4",
		"resync":                    "5m0s",
		"relist":                    "1h0m0s",
		"prune-grace":               "1m0s",
		"default-service-account":   "pequod",
		"no-cross-namespace":        "false",
		"shards":                    "1",
		"kubeconfig":                "",
		"zap-log-level":             "info",
		"zap-encoder":               "json",
		"zap-stacktrace-level":      "panic",
		"zap-time-encoding":         "rfc3339",
		"version":                   "false",
	}
	got := map[string]string{}
	flags(t).VisitAll(func(f *pflag.Flag) { got[f.Name] = f.DefValue })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
	s, _, err := applier.Parse(nil)
	if err != nil || s.Graphs.Resync != 5*time.Minute || !s.Metrics.Secure {
		t.Errorf("without flags: %+v, %v", s, err)
	}
}

// flags returns the flags of the program.
func flags(t *testing.T) *pflag.FlagSet {
	t.Helper()
	_, fs, err := applier.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

// TestFlagsDocumented checks that the documentation lists every flag with its default.
func TestFlagsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	own, _, _ := strings.Cut(string(text), "\n## Operator mode\n") // the rest is about pequod-manager
	want, got := map[string]string{}, map[string]string{}
	flags(t).VisitAll(func(f *pflag.Flag) { want[f.Name] = f.DefValue })
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`([^`]*)`)? *\\|").FindAllStringSubmatch(own, -1) {
		got[row[1]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-program +docs/operations.md):\n%s", diff)
	}
}

// TestRun checks the errors of the flags that only this program has. Package incluster
// tests all others.
func TestRun(t *testing.T) {
	const help = "; see 'pequod-applier --help'\n"
	for _, test := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"--cluster"}, "pequod-applier: unknown flag: --cluster" + help},
		{[]string{"worker"}, "pequod-applier: unexpected argument: worker" + help},
		{[]string{"--namespace=shop.web"}, `pequod-applier: --namespace: "shop.web" is not the name of a namespace` + help},
		{[]string{"--default-service-account=A b"}, `pequod-applier: --default-service-account: "A b" is not the name of a service account` + help},
		{[]string{"--shards=4"}, "pequod-applier: --shards goes with --leader-elect" + help},
		{[]string{"--shards=0"}, "pequod-applier: --shards: must be between 1 and 64, not 0" + help},
		{[]string{"--leader-elect", "--shards=65"}, "pequod-applier: --shards: must be between 1 and 64, not 65" + help},
	} {
		var stdout, stderr bytes.Buffer
		if code := applier.Run(test.args, &stdout, &stderr); code != incluster.ExitFailed || stdout.Len() > 0 || stderr.String() != test.stderr {
			t.Errorf("%v: exit code %d\nstdout: %sstderr: %s", test.args, code, &stdout, &stderr)
		}
	}
}
