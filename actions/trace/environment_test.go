package trace

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// environment returns a function that returns variables.
func environment(set map[string]string) func(string) string {
	return func(name string) string { return set[name] }
}

// TestEndpoint finds the address by the rules of OpenTelemetry: that for traces as it is, and the one for all
// signals with a path.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	const all, traces, secret = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "canary-77aa"
	for name, test := range map[string]struct {
		set  map[string]string
		want string
	}{
		"nothing":            {nil, " "},
		"all":                {map[string]string{all: "http://c:4318"}, "http://c:4318/v1/traces " + all},
		"slash":              {map[string]string{all: "http://c/otlp/", traces: ""}, "http://c/otlp/v1/traces " + all},
		"traces":             {map[string]string{all: "http://c", traces: "https://d/x"}, "https://d/x " + traces},
		"disabled":           {map[string]string{all: "http://c", "OTEL_SDK_DISABLED": "TRUE"}, " "},
		"none":               {map[string]string{all: "http://c", "OTEL_TRACES_EXPORTER": "none"}, " "},
		"otlp":               {map[string]string{traces: "http://c", "OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "no"}, "http://c " + traces},
		"protocol":           {map[string]string{traces: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, "http://c " + traces},
		"without an address": {map[string]string{"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, " "},
		"another exporter":   {map[string]string{all: "http://c", "OTEL_TRACES_EXPORTER": "zipkin"}, `OTEL_TRACES_EXPORTER: "zipkin" is neither otlp nor none`},
		"another protocol":   {map[string]string{all: "http://c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, `OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" is not supported; http/protobuf is`},
		"not an address":     {map[string]string{all: "http://c/%zz" + secret}, all + ": the address is not valid"},
	} {
		address, variable, err := Endpoint(environment(test.set))
		got := address + " " + variable
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s; want %s", name, got, test.want)
		}
	}
}

// TestReadEnvironment reads the other variables: those for traces before those for all signals, and values with
// percent-encoding.
func TestReadEnvironment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  map[string]string
		want Environment
	}{
		"nothing": {nil, Environment{}},
		"headers": {
			map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": " authorization = Bearer%20a%2Cb ,,x-tenant=a=b+c"},
			Environment{Header: http.Header{"Authorization": {"Bearer a,b"}, "X-Tenant": {"a=b+c"}}},
		},
		"headers of traces": {
			map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2"}, Environment{Header: http.Header{"B": {"2"}}},
		},
		"files": {
			map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "/a", "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE": "/b"},
			Environment{CAFile: "/b", CAVariable: "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE"},
		},
		"resource": {
			map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=a%3Db", "OTEL_SERVICE_NAME": "shop"},
			Environment{Attributes: map[string]string{"service.name": "shop", "team": "a=b"}},
		},
	} {
		if test.want.Attributes == nil {
			test.want.Attributes = map[string]string{}
		}
		got, err := ReadEnvironment(environment(test.set))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	const secret = "canary-77aa"
	for variable, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": secret, "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "a=%zz" + secret, "OTEL_RESOURCE_ATTRIBUTES": "=" + secret,
	} {
		_, err := ReadEnvironment(environment(map[string]string{variable: value}))
		if err == nil || !strings.HasPrefix(err.Error(), variable+": ") || strings.Contains(err.Error(), secret) {
			t.Errorf("%s=%s: %v", variable, value, err)
		}
	}
	for _, value := range []string{"a b=" + secret, "a=%0a" + secret} {
		_, err := ReadEnvironment(environment(map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": value}))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", value, err)
		}
	}
}
