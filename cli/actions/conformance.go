package actions

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/pequod-io/pequod/actions/conformance"
	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/source"
)

// conformanceOptions are the flags of conformance.
type conformanceOptions struct {
	// tokenFile and caFile are files with the token and the authorities of the server, and inputs
	// one with the inputs of the runs.
	tokenFile, caFile, inputs string
	timeout, poll             time.Duration
	// yes skips the prompt.
	yes bool
}

// newConformanceCommand returns the command "action conformance".
func newConformanceCommand(env command.Env) *cobra.Command {
	o := &conformanceOptions{}
	cmd := &cobra.Command{
		Use:   "conformance URL",
		Short: "Check that a server speaks the executor protocol",
		Long: `Check that a server speaks version 1 of the executor protocol, as servers of Actions with
spec.external must. URL is that of spec.external.url. Stdout has a line for each check.

The checks begin real runs: two that succeed, one whose plan is approved, one that is
cancelled while it waits for approval, and one that undoes the first. --inputs has the
inputs of all of them. Use a server, or inputs, for which that does no harm.

Prompts for confirmation. Use --yes to skip the prompt; it is required when stdin is not a
terminal.

The exit code is 0 if the server passes; 1 if a check failed; 2 if the server could not be
reached or the prompt was answered with no.`,
		Example: `  pequod action conformance https://runs.example.com --token-file token --inputs inputs.yaml`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.tokenFile, "token-file", "", "file with the token that is sent as Authorization: Bearer; - is stdin")
	fl.StringVar(&o.caFile, "ca-file", "", "file with the certificates of the server's authorities, as PEM; default: those of the system")
	fl.StringVar(&o.inputs, "inputs", "", "YAML or JSON file with the inputs of the runs; default: none")
	fl.DurationVar(&o.timeout, "timeout", 5*time.Minute, "time limit of each run")
	fl.DurationVar(&o.poll, "poll-interval", time.Second, "time between two looks at a run")
	fl.BoolVarP(&o.yes, "yes", "y", false, "skip the confirmation prompt")
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	return cmd
}

// run makes the checks and prints them.
func (o *conformanceOptions) run(ctx context.Context, env command.Env, address string) error {
	options, err := o.options(ctx, env, address)
	if err != nil {
		return err
	}
	if !o.yes {
		yes, err := command.Confirm(ctx, env, "action conformance", fmt.Sprintf("Begin runs at %s?", address))
		if err != nil {
			return err
		}
		if !yes {
			return errors.New("nothing was begun")
		}
	}
	var failed, made int
	var broken error
	err = conformance.Run(ctx, options, func(r conformance.Result) {
		verdict, why := "ok  ", ""
		switch {
		case r.Err != nil:
			verdict, why = "FAIL", ": "+source.Escape(r.Err.Error(), "")
			failed++
		case r.Skipped != "":
			verdict, why = "skip", ": "+r.Skipped
		}
		if r.Skipped == "" {
			made++
		}
		if _, err := fmt.Fprintf(env.Out, "%s  %s%s\n", verdict, r.Check, why); err != nil {
			broken = err
		}
	})
	switch {
	case err != nil:
		return err
	case broken != nil:
		return command.OutputError(broken)
	case failed > 0:
		fmt.Fprintf(env.Err, "%s: %d of %s failed\n", address, failed, source.Count(made, "check"))
		return command.ExitWith(command.ExitNo)
	}
	fmt.Fprintf(env.Err, "%s: %s passed\n", address, source.Count(made, "check"))
	return nil
}

// options returns the options of the checks.
func (o *conformanceOptions) options(ctx context.Context, env command.Env, address string) (conformance.Options, error) {
	c := conformance.Options{URL: address, Timeout: o.timeout, Poll: o.poll}
	switch u, err := url.Parse(address); {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return c, fmt.Errorf("%q is not the address of a server, such as https://runs.example.com", address)
	case o.timeout <= 0 || o.poll <= 0:
		return c, errors.New("--timeout and --poll-interval must be positive")
	}
	if o.tokenFile != "" {
		token, err := read(ctx, env, o.tokenFile)
		if err != nil {
			return c, err
		}
		if c.Token = strings.TrimSpace(string(token)); c.Token == "" || strings.ContainsAny(c.Token, "\r\n") {
			return c, fmt.Errorf("--token-file %s: must have one line with the token", o.tokenFile)
		}
	}
	if o.inputs != "" {
		data, err := files.ReadFile(ctx, o.inputs)
		if err != nil {
			return c, err
		}
		inputs, err := yaml.YAMLToJSONStrict(data)
		var object map[string]any
		if err == nil {
			err = json.Unmarshal(inputs, &object)
		}
		if err != nil || object == nil {
			return c, fmt.Errorf("--inputs %s: must have one object", o.inputs)
		}
		c.Inputs = inputs
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment}
	if o.caFile != "" {
		data, err := os.ReadFile(o.caFile)
		if err != nil {
			return c, command.FileError(err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(data) {
			return c, fmt.Errorf("--ca-file %s: has no certificate", o.caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	c.Client = &http.Client{Transport: transport, Timeout: time.Minute}
	return c, nil
}

// read reads a file; - is stdin.
func read(ctx context.Context, env command.Env, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(env.In, 1<<16))
	}
	return files.ReadFile(ctx, name)
}
