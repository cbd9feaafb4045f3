package trace

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Environment has the settings of traces, besides [Endpoint], in the variables that OpenTelemetry specifies for
// SDKs and for exporters.
type Environment struct {
	// CAFile is a file with the certificates of authorities, and CAVariable the variable with its name; both
	// are empty if there is none.
	CAFile, CAVariable string
	// Header are the headers of requests. They may be secret.
	Header http.Header
	// Attributes are those of the resource.
	Attributes map[string]string
}

// variable returns a variable for the exporter of OTLP, and its name: that for traces, or the one for all signals.
// An empty variable is one that isn't set.
func variable(getenv func(string) string, option string) (value, name string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		if value := getenv(prefix + option); value != "" {
			return value, prefix + option
		}
	}
	return "", ""
}

// Endpoint returns where traces are sent, and the variable that says so; both are empty if none does.
func Endpoint(getenv func(string) string) (address, name string, err error) {
	address, name = variable(getenv, "ENDPOINT")
	if address == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return "", "", nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return "", "", nil
	default:
		return "", "", fmt.Errorf("OTEL_TRACES_EXPORTER: %q is neither otlp nor none", exporter)
	}
	if protocol, from := variable(getenv, "PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return "", "", fmt.Errorf("%s: %q is not supported; http/protobuf is", from, protocol)
	}
	if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
		// It is a base, below which each signal has its path.
		if address, err = url.JoinPath(address, "v1/traces"); err != nil {
			return "", "", errors.New(name + ": the address is not valid") // it may have a secret
		}
	}
	return address, name, nil
}

// ReadEnvironment reads the variables. Errors name a variable, and don't show values.
func ReadEnvironment(getenv func(string) string) (e Environment, err error) {
	e.CAFile, e.CAVariable = variable(getenv, "CERTIFICATE")
	text, name := variable(getenv, "HEADERS")
	pairs, err := list(text)
	if err != nil {
		return e, fmt.Errorf("%s: %w", name, err)
	}
	for _, p := range pairs {
		if !httpguts.ValidHeaderFieldName(p[0]) || !httpguts.ValidHeaderFieldValue(p[1]) {
			return e, fmt.Errorf("%s: not a list of headers such as authorization=Bearer%%20TOKEN", name)
		}
		if e.Header == nil {
			e.Header = http.Header{}
		}
		e.Header.Set(p[0], p[1])
	}
	if pairs, err = list(getenv("OTEL_RESOURCE_ATTRIBUTES")); err != nil {
		return e, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	e.Attributes = map[string]string{}
	for _, p := range pairs {
		e.Attributes[p[0]] = p[1]
	}
	if service := getenv("OTEL_SERVICE_NAME"); service != "" {
		e.Attributes["service.name"] = service
	}
	return e, nil
}

// list parses KEY=VALUE,KEY=VALUE, whose values are percent-encoded as in the header Baggage of W3C. The
// error doesn't show it.
func list(text string) (pairs [][2]string, err error) {
	for i, entry := range strings.Split(text, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		key, value, ok := strings.Cut(entry, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil {
			return nil, fmt.Errorf("entry %d is not KEY=VALUE with percent-encoding", i+1)
		}
		pairs = append(pairs, [2]string{key, value})
	}
	return pairs, nil
}
