package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/actions/egress"
)

// TestExportFlags checks the flags of notifications and traces.
func TestExportFlags(t *testing.T) {
	t.Parallel()
	allowed, err := egress.ParseAllowed([]string{"example.com", "http://plain.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                                   "",
		"--events-addr=https://example.com/": "",
		"--events-addr=http://plain.example.com./ --events-format=cloudevents":    "",
		"--events-addr=http://example.com/":                                       "--events-addr: host example.com is not allowed without TLS; see --allow-egress of pequod-actions",
		"--events-addr=https://elsewhere.example":                                 "--events-addr: host elsewhere.example is not allowed; see --allow-egress of pequod-actions",
		"--events-addr=https://u:p@example.com/":                                  "--events-addr: the address must begin with https://HOST, without a user",
		"--events-addr=https://example.com/%zz":                                   "--events-addr: the address is not valid",
		"--events-addr=https://example.com/ --events-format=xml":                  `--events-format: "xml" is neither flux nor cloudevents`,
		"--traces-addr=https://example.com/v1/traces":                             "",
		"--traces-addr=https://elsewhere.example":                                 "--traces-addr: host elsewhere.example is not allowed; see --allow-egress of pequod-actions",
		"--traces-header-file=/none":                                              "--traces-header-file goes with --traces-addr",
		"--events-format=cloudevents":                                             "--events-format goes with --events-addr",
		"--events-addr=https://example.com/ --events-ca-file=/none":               "--events-ca-file: open /none: no such file or directory",
		"--traces-addr=https://example.com/ --traces-ca-file=exports_test.go":     "--traces-ca-file: exports_test.go: no certificate as PEM",
		"--traces-addr=http://plain.example.com/ --traces-ca-file=/none":          "--traces-ca-file goes with an address that begins with https://",
		"--traces-ca-file=/none":                                                  "--traces-ca-file goes with --traces-addr",
		"--events-revision":                                                       "--events-revision goes with --events-addr",
		"--events-header-file=/none":                                              "--events-header-file goes with --events-addr",
		"--events-addr=https://example.com/ --events-header-file=/none":           "--events-header-file: open /none: no such file or directory",
		"--events-addr=https://example.com/ --events-header-file=exports_test.go": "--events-header-file: exports_test.go:1: not a header such as Authorization: Bearer TOKEN",
	} {
		o, fs := exportOptions{getenv: func(string) string { return "" }}, pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := o.check(allowed); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s; want %s", args, got, want)
		}
	}
}

// TestExportEnvironment checks the variables of OpenTelemetry, over which flags take precedence. Values of
// headers are in no error.
func TestExportEnvironment(t *testing.T) {
	t.Parallel()
	allowed, err := egress.ParseAllowed([]string{"example.com"})
	if err != nil {
		t.Fatal(err)
	}
	const secret, endpoint, headers = "canary-3b3b", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"
	for _, test := range []struct {
		args, want string
		set        map[string]string
	}{
		{"", "https://example.com/v1/traces [Bearer " + secret + "] shop", map[string]string{endpoint: "https://example.com", headers: "authorization=Bearer%20" + secret, "OTEL_SERVICE_NAME": "shop"}},
		{"--traces-addr=https://example.com/x", "https://example.com/x [] shop", map[string]string{endpoint: "https://elsewhere", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_SERVICE_NAME": "shop"}},
		{"", " [] ", map[string]string{headers: secret}},
		{"", endpoint + ": host elsewhere is not allowed; see --allow-egress of pequod-actions", map[string]string{endpoint: "https://elsewhere"}},
		{"", endpoint + ": the address must begin with https://HOST, without a user", map[string]string{endpoint: "example.com:4317"}},
		{"", headers + ": entry 1 is not KEY=VALUE with percent-encoding", map[string]string{endpoint: "https://example.com", headers: secret}},
		{"", "OTEL_EXPORTER_OTLP_CERTIFICATE: open /none: no such file or directory", map[string]string{endpoint: "https://example.com", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/none"}},
		{"--traces-ca-file=/mine", "--traces-ca-file: open /mine: no such file or directory", map[string]string{endpoint: "https://example.com", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/none"}},
	} {
		o, fs := exportOptions{getenv: func(name string) string { return test.set[name] }}, pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(fs)
		if err := fs.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := o.check(allowed); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(o.traces.address, " ", o.traces.header["Authorization"], " ", o.resource.Attributes["service.name"])
		}
		if got != test.want {
			t.Errorf("%s %v: %s; want %s", test.args, test.set, got, test.want)
		}
	}
}
