package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/cmd/internal/incluster"
	"github.com/pequod-io/pequod/modules/cache"
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
		"watch-label-selector":      "",
		"concurrent":                "4",
		"resync":                    "5m0s",
		"relist":                    "1h0m0s",
		"prune-grace":               "1m0s",
		"no-cross-namespace":        "false",
		"webhooks":                  "false",
		"webhook-bind-address":      ":9443",
		"webhook-cert-path":         "",
		"webhook-namespace":         "",
		"webhook-failure-policy":    "Ignore",
		"manager-namespace":         "",
		"transform-namespaces":      "[]",
		"execute":                   "true",
		"policy":                    "[]",
		"policy-pull-secret":        "",
		"artifact-bind-address":     "0",
		"artifact-url":              "",
		"no-cross-namespace-refs":   "false",
		"artifact-namespace-quota":  "128",
		"artifact-total-quota":      "512",
		"eval-timeout":              "10s",
		"eval-memory":               "512",
		"eval-processes":            "64",
		"kubeconfig":                "",
		"zap-log-level":             "info",
		"zap-encoder":               "json",
		"zap-stacktrace-level":      "panic",
		"zap-time-encoding":         "rfc3339",
		"version":                   "false",
	}
	got := map[string]string{}
	_, fs, err := new(options).program().Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	fs.VisitAll(func(f *pflag.Flag) { got[f.Name] = f.DefValue })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-want +got):\n%s", diff)
	}
}

// TestFlagsDocumented checks that the documentation lists every flag that only this program
// has, with its default.
func TestFlagsDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Operator mode\n")
	section, _, _ = strings.Cut(section, "\n## ")
	want, got := map[string]string{}, map[string]string{}
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	new(options).addFlags(fs, nil)
	fs.VisitAll(func(f *pflag.Flag) { want[f.Name] = f.DefValue })
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| (?:`([^`]*)`)? *\\|").FindAllStringSubmatch(section, -1) {
		got[row[1]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-program +docs/operations.md):\n%s", diff)
	}
}

// TestRun checks the errors of the flags that only this program has. Package incluster
// tests all others.
func TestRun(t *testing.T) {
	const help = "; see 'pequod-manager --help'\n"
	for _, test := range []struct {
		arg    string
		stderr string
	}{
		{"--default-service-account=x", "pequod-manager: unknown flag: --default-service-account" + help},
		{"--manager-namespace=A", `pequod-manager: --manager-namespace: "A" is not the name of a namespace` + help},
		{"--policy=oci://", `pequod-manager: --policy: oci://: "" is not the host of a registry; want oci://HOST/REPOSITORY:TAG` + help},
		{"--policy=oci-layout:dir", "pequod-manager: --policy: oci-layout:dir: a cluster has no directories; want oci://HOST/REPOSITORY:TAG" + help},
		{"--policy-pull-secret=A_B", `pequod-manager: --policy-pull-secret: "A_B" is not the name of a Secret` + help},
		{"--transform-namespaces=a,B", `pequod-manager: --transform-namespaces: "B" is not the name of a namespace` + help},
		{"--webhook-failure-policy=Never", `pequod-manager: --webhook-failure-policy: "Never" is neither Ignore nor Fail` + help},
		{"--artifact-namespace-quota=-1", "pequod-manager: --artifact-namespace-quota and --artifact-total-quota must be at least 0" + help},
		{"--artifact-total-quota=-1", "pequod-manager: --artifact-namespace-quota and --artifact-total-quota must be at least 0" + help},
		{"--eval-timeout=0", "pequod-manager: --eval-timeout: must be more than 0, not 0s" + help},
		{"--eval-memory=1", "pequod-manager: --eval-memory: must be at least 64, not 1" + help},
		{"--eval-processes=0", "pequod-manager: --eval-processes: must be at least 1, not 0" + help},
		{"--artifact-bind-address=9790", "pequod-manager: --artifact-bind-address: address 9790: missing port in address" + help},
		{"--artifact-url=http://a", "pequod-manager: --artifact-url goes with --artifact-bind-address" + help},
		{"--no-cross-namespace-refs", "pequod-manager: --no-cross-namespace-refs goes with --artifact-bind-address" + help},
	} {
		var stdout, stderr bytes.Buffer
		code := new(options).program().Run([]string{test.arg}, &stdout, &stderr)
		if code != incluster.ExitFailed || stdout.Len() > 0 || stderr.String() != test.stderr {
			t.Errorf("%s: exit code %d\nstdout: %sstderr: %s", test.arg, code, &stdout, &stderr)
		}
	}
	for _, flag := range []string{"--watch-label-selector=a", "--concurrent=2", "--resync=1m", "--relist=1m", "--prune-grace=0", "--no-cross-namespace"} {
		_, _, err := new(options).program().Parse([]string{"--execute=false", flag})
		if err == nil || !strings.HasSuffix(err.Error(), ": it is for the execution of graphs; set it for pequod-applier, which executes them with --execute=false") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	for _, url := range []string{"pequod", "ftp://pequod", "http://user@pequod", "http://pequod?a=b", "http://"} {
		_, _, err := new(options).program().Parse([]string{"--artifact-bind-address=:9790", "--artifact-url=" + url})
		want := fmt.Sprintf("--artifact-url: %q is not an address such as https://artifacts.example.com", url)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v; want %s", url, err, want)
		}
	}
	o := new(options)
	if _, _, err := o.program().Parse([]string{"--artifact-bind-address=:9790", "--manager-namespace=ops"}); err != nil || o.artifacts.url != "http://pequod-artifacts.ops.svc.cluster.local." {
		t.Errorf("address %q, %v", o.artifacts.url, err)
	}
	o = new(options)
	if _, _, err := o.program().Parse([]string{"--transform-namespaces=*"}); err != nil || o.namespace != incluster.DefaultNamespace {
		t.Errorf("namespace %q, %v", o.namespace, err)
	}
}

// TestCache checks the defaults of the cache, and that variables replace them.
func TestCache(t *testing.T) {
	env := map[string]string{}
	getenv := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	options := func() cache.Options {
		t.Helper()
		o, err := cacheOptions(getenv)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if diff := cmp.Diff(cache.Options{Dir: "/tmp/pequod-cache/modules", MaxBytes: 100 << 20, MaxAge: 24 * time.Hour}, options()); diff != "" {
		t.Errorf("without variables (-want +got):\n%s", diff)
	}
	env["PEQUOD_CACHE_DIR"], env["PEQUOD_CACHE_SIZE_MB"], env["PEQUOD_CACHE_TTL_HOURS"] = "/cache", "5", "0"
	if diff := cmp.Diff(cache.Options{Dir: "/cache/modules", MaxBytes: 5 << 20}, options()); diff != "" {
		t.Errorf("with variables (-want +got):\n%s", diff)
	}
	env["PEQUOD_CACHE_SIZE_MB"] = "much"
	if _, err := cacheOptions(getenv); err == nil {
		t.Error("a wrong size is accepted")
	}
}

// TestFit derives the memory of evaluations from that of the container.
func TestFit(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		limit  string
		own    int64
		memory int
		budget uint64
		err    string
	}{
		{"", 410 * mib, 512, 0, ""},
		{fmt.Sprint(2048 * mib), 410 * mib, 512, 1638 * mib, ""},
		{fmt.Sprint(768 * mib), 410 * mib, 358, 358 * mib, ""},
		{fmt.Sprint(1024 * mib), math.MaxInt64, 512, 768 * mib, ""}, // without GOMEMLIMIT
		{fmt.Sprint(440 * mib), 410 * mib, 0, 0, "the memory limit of the container is 440 MiB, of which GOMEMLIMIT reserves 410 for this process: evaluations need at least 64; raise the limit of the Deployment"},
		{"2Gi", 0, 0, 0, `PEQUOD_MEMORY_LIMIT: "2Gi" is not a number of bytes`},
	} {
		e := evaluation{memory: 512}
		err := e.fit(test.limit, test.own)
		if test.err != "" {
			if err == nil || err.Error() != test.err {
				t.Errorf("%s: %v; want %s", test.limit, err, test.err)
			}
		} else if err != nil || e.memory != test.memory || e.budget != test.budget {
			t.Errorf("%s: %v, %+v; want %d MiB and %d bytes", test.limit, err, e, test.memory, test.budget)
		}
	}
}
