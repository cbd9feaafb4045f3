package incluster

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// tested has one flag of its own.
var tested = Program{Name: "pequod-test", About: "Test.", AddFlags: func(fs *pflag.FlagSet, s *Settings) {
	fs.StringVar(&s.Graphs.Namespace, "only", "", "namespace")
}}

// TestRun checks the output and the exit code of everything that needs no cluster.
func TestRun(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const help = "; see 'pequod-test --help'\n"
	for _, test := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--version"}, 0, "pequod-test dev\n", ""},
		{[]string{"--cluster"}, 2, "", "pequod-test: unknown flag: --cluster" + help},
		{[]string{"-x"}, 2, "", "pequod-test: unknown shorthand flag: 'x' in -x" + help},
		{[]string{"run"}, 2, "", "pequod-test: unexpected argument: run" + help},
		{[]string{"--concurrent=0"}, 2, "", "pequod-test: --concurrent: must be at least 1, not 0" + help},
		{[]string{"--resync=0"}, 2, "", "pequod-test: --resync: must be at least 1s, not 0s" + help},
		{[]string{"--relist=1ms"}, 2, "", "pequod-test: --relist: must be 0 or at least 1s, not 1ms" + help},
		{[]string{"--prune-grace=-1s"}, 2, "", "pequod-test: --prune-grace: must not be negative, not -1s" + help},
		{[]string{"--resync=soon"}, 2, "", `pequod-test: invalid argument "soon" for "--resync" flag: time: invalid duration "soon"` + help},
		{[]string{"--zap-log-level=loud"}, 2, "", `pequod-test: invalid argument "loud" for "--zap-log-level" flag: invalid log level "loud"` + help},
		{[]string{"--zap-encoder=xml"}, 2, "", `pequod-test: invalid argument "xml" for "--zap-encoder" flag: invalid encoder value "xml"` + help},
		{[]string{"--metrics-bind-address=8443"}, 2, "", "pequod-test: --metrics-bind-address: address 8443: missing port in address" + help},
		{[]string{"--health-probe-bind-address=:http0"}, 2, "", "pequod-test: --health-probe-bind-address: lookup tcp/http0: unknown port" + help},
		{[]string{"--metrics-cert-path=/none"}, 2, "", "pequod-test: --metrics-cert-path: stat /none/tls.crt: no such file or directory" + help},
		{[]string{"--metrics-cert-path=/c", "--metrics-secure=false"}, 2, "", "pequod-test: --metrics-cert-path goes with --metrics-secure" + help},
		{[]string{"--leader-election-id=x"}, 2, "", "pequod-test: --leader-election-id goes with --leader-elect" + help},
		{[]string{"--leader-elect", "--leader-election-id=A b"}, 2, "", `pequod-test: --leader-election-id: "A b" is not the name of a lease` + help},
		{[]string{"--only=shop.web"}, 2, "", `pequod-test: --namespace: "shop.web" is not the name of a namespace` + help},
		{[]string{"--watch-label-selector=a in b"}, 2, "", `pequod-test: invalid argument "a in b" for "--watch-label-selector" flag: unable to parse requirement: found 'b' expected: '('` + help},
		{[]string{"--webhook-cert-path=/c"}, 2, "", "pequod-test: --webhook-cert-path goes with --webhooks" + help},
		{[]string{"--webhooks", "--webhook-cert-path=/none"}, 2, "", "pequod-test: --webhook-cert-path: stat /none/tls.crt: no such file or directory" + help},
		{[]string{"--webhooks", "--webhook-bind-address=9443"}, 2, "", `pequod-test: --webhook-bind-address: "9443" is not an address such as :9443` + help},
		{[]string{"--webhooks", "--webhook-namespace=a.b"}, 2, "", `pequod-test: --webhook-namespace: "a.b" is not the name of a namespace` + help},
		{[]string{"--leader-election-namespace=x"}, 2, "", "pequod-test: --leader-election-namespace goes with --leader-elect" + help},
	} {
		var stdout, stderr bytes.Buffer
		code := tested.Run(test.args, &stdout, &stderr)
		if code != test.code || stdout.String() != test.stdout || stderr.String() != test.stderr {
			t.Errorf("%v: exit code %d\nstdout: %sstderr: %s", test.args, code, &stdout, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := tested.Run([]string{"--help"}, &stdout, &stderr); code != 0 || stderr.Len() > 0 || !bytes.Contains(stdout.Bytes(), []byte("--no-cross-namespace ")) {
		t.Errorf("--help: exit code %d\n%s%s", code, &stdout, &stderr)
	}
	// Later errors are logged, as one JSON object per line.
	stdout.Reset()
	if code := tested.Run([]string{"--zap-time-encoding=epoch"}, &stdout, &stderr); code != 2 || stdout.Len() > 0 ||
		!bytes.Contains(stderr.Bytes(), []byte(`"msg":"ended","error":"no cluster: not in a Pod, and no kubeconfig; name one with --kubeconfig"}`)) {
		t.Errorf("without a cluster: exit code %d\n%s%s", code, &stdout, &stderr)
	}
}

// TestLease checks that programs of different graphs never take each other for replicas, and
// that those of the same graphs always do.
func TestLease(t *testing.T) {
	lease := func(args ...string) string {
		s, _, err := tested.Parse(append(args, "--leader-elect"))
		if err != nil {
			t.Fatal(err)
		}
		return s.lease()
	}
	if got := lease(); got != "pequod-test" {
		t.Errorf("lease %s", got)
	}
	if got := lease("--only=shop", "--leader-election-id=mine"); got != "mine" {
		t.Errorf("lease %s", got)
	}
	different := map[string][]string{}
	for _, args := range [][]string{
		{"--only=shop"}, {"--only=other"}, {"--watch-label-selector=a=1,b=2"}, {"--watch-label-selector=a=1"},
		{"--only=shop", "--watch-label-selector=a=1"},
	} {
		got := lease(args...)
		if other, taken := different[got]; taken || !strings.HasPrefix(got, "pequod-test-") {
			t.Errorf("lease of %v: %s, which is also that of %v", args, got, other)
		}
		different[got] = args
	}
	if a, b := lease("--watch-label-selector=a=1,b=2"), lease("--watch-label-selector= b = 2, a = 1"); a != b {
		t.Errorf("leases of the same graphs: %s and %s", a, b)
	}
}
