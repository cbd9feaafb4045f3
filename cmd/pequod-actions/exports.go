package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/notify"
	"github.com/pequod-io/pequod/actions/outbox"
	"github.com/pequod-io/pequod/actions/trace"
	"github.com/pequod-io/pequod/internal/version"
)

// exportOptions are the flags of what is sent to servers outside of the cluster. All of it is off
// without an address.
type exportOptions struct {
	events, traces export
	format         string
	parsed         notify.Format
	revision       bool
	resource       trace.Resource
	// getenv returns a variable of the environment; nil is [os.Getenv].
	getenv func(string) string
}

// export is what is sent to one server.
type export struct {
	address            string
	headerFile, caFile string
	header             http.Header
	// addressFrom and caFrom are variables of the environment, or "" if flags have the values.
	addressFrom, caFrom string
}

// flags adds the flags that all exports have, with what is sent as the prefix.
func (e *export) flags(fs *pflag.FlagSet, prefix, what string) {
	fs.StringVar(&e.headerFile, prefix+"-header-file", "", "file with headers that are sent with "+what+", one a line, such as Authorization: Bearer TOKEN; default: none")
	fs.StringVar(&e.caFile, prefix+"-ca-file", "", "file with the certificates of the authorities that are trusted when "+what+" are sent, as PEM; default: those of the system")
}

// addFlags adds the flags.
func (o *exportOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.events.address, "events-addr", "",
		"address to which Events about objects of Pequod are sent, such as http://notification-controller.flux-system.svc.cluster.local./; its host must be in --allow-egress; default: none")
	fs.StringVar(&o.format, "events-format", string(notify.Flux), "format of these Events: flux or cloudevents")
	o.events.flags(fs, "events", "these Events")
	fs.BoolVar(&o.revision, "events-revision", false,
		"add the revision of the source to Events about objects that a Kustomization of Flux has applied, which is read for each of them")
	fs.StringVar(&o.traces.address, "traces-addr", "",
		"address to which traces of executions are sent with OTLP, such as http://otel-collector.observability.svc:4318/v1/traces; its host must be in --allow-egress; default: that of the environment, such as OTEL_EXPORTER_OTLP_ENDPOINT")
	o.traces.flags(fs, "traces", "traces")
}

// check checks the flags and the environment.
func (o *exportOptions) check(allowed egress.Allowed) (err error) {
	if o.parsed, err = notify.ParseFormat(o.format); err != nil {
		return fmt.Errorf("--events-format: %w", err)
	}
	if err := o.environment(); err != nil {
		return err
	}
	switch {
	case o.events.address == "" && o.revision:
		return errors.New("--events-revision goes with --events-addr")
	case o.events.address == "" && o.parsed != notify.Flux:
		return errors.New("--events-format goes with --events-addr")
	}
	return cmp.Or(o.events.check("events", allowed), o.traces.check("traces", allowed))
}

// environment takes over what the environment says about traces. Flags take precedence.
func (o *exportOptions) environment() error {
	if o.getenv == nil {
		o.getenv = os.Getenv
	}
	o.resource = trace.Resource{Version: version.Program()}
	if o.traces.address == "" {
		var err error
		if o.traces.address, o.traces.addressFrom, err = trace.Endpoint(o.getenv); err != nil || o.traces.address == "" {
			return err // the rest is for other programs
		}
	}
	env, err := trace.ReadEnvironment(o.getenv)
	if err != nil {
		return err
	}
	if o.traces.caFile == "" {
		o.traces.caFile, o.traces.caFrom = env.CAFile, env.CAVariable
	}
	o.traces.header, o.resource.Attributes = env.Header, env.Attributes
	return nil
}

// check checks the address and the files of an export.
func (e *export) check(name string, allowed egress.Allowed) error {
	if e.address == "" {
		switch {
		case e.headerFile != "":
			return fmt.Errorf("--%s-header-file goes with --%s-addr", name, name)
		case e.caFile != "":
			return fmt.Errorf("--%s-ca-file goes with --%s-addr", name, name)
		}
		return nil
	}
	from := cmp.Or(e.addressFrom, "--"+name+"-addr")
	u, err := url.Parse(e.address)
	if err != nil || u.Fragment != "" {
		return fmt.Errorf("%s: the address is not valid", from) // it may have a secret
	}
	if err := allowed.Check(e.address); err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if e.headerFile != "" {
		if _, err := outbox.ReadHeaders(e.headerFile); err != nil {
			return fmt.Errorf("--%s-header-file: %w", name, err)
		}
	}
	switch {
	case e.caFile == "":
		return nil
	case e.caFrom == "" && u.Scheme == "http":
		return fmt.Errorf("--%s-ca-file goes with an address that begins with https://", name)
	}
	if _, err := outbox.ReadCertificates(e.caFile); err != nil {
		return fmt.Errorf("%s: %w", cmp.Or(e.caFrom, "--"+name+"-ca-file"), err)
	}
	return nil
}
