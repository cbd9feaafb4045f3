package reaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/monitor"
	"github.com/pequod-io/pequod/actions/probe"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/actions/runs"
	"github.com/pequod-io/pequod/actions/verdict"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// requestTimeout limits a request by default.
const requestTimeout = 30 * time.Second

// http sends a request. Neither its result nor its error has the address if that is of a Secret.
func (r *Reactor) http(ctx context.Context, m *v1alpha1.Monitor, do *v1alpha1.HTTPReaction, on monitor.Occasion) (string, error) {
	header, secrets, err := probe.Headers(ctx, r.Accounts, m, do.HeadersSecretRef)
	if err != nil {
		return "", err
	}
	// The same key if the reaction is repeated after a crash, for servers that honour it.
	header.Set("Idempotency-Key", runs.Digest([]any{m.UID, on.MonitorFiring, do}))
	for name, value := range do.Headers {
		header.Set(name, string(value))
	}
	address, shown := do.URL, executor.PublicURL(do.URL)
	if ref := do.URLSecretRef; ref != nil {
		data, err := r.Accounts.Secret(ctx, m.Namespace, m.Spec.ServiceAccountName, ref.Name)
		if err != nil {
			//lint:ignore ST1005 it begins with a kind
			return "", fmt.Errorf("Secret %s: %s", ref.Name, identity.Reason(err))
		}
		if address = strings.TrimSpace(string(data[ref.Key])); address == "" {
			//lint:ignore ST1005 it begins with a kind
			return "", fmt.Errorf("Secret %s has no key %s", ref.Name, ref.Key)
		}
		shown = "the address of Secret " + ref.Name
		secrets = append(secrets, partsOf(address)...)
	}
	body, err := bodyOf(do, header, on)
	if err != nil {
		return "", err
	}
	method := string(do.Method)
	if method == "" {
		method = http.MethodPost
	}
	ctx, cancel := context.WithTimeout(ctx, min(verdict.Duration(do.Timeout, requestTimeout), requestTimeout))
	defer cancel()
	response, err := r.Hosts.Do(ctx, egress.Request{Method: method, URL: address, Header: header, Body: body})
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("%s %s: no answer in time", method, shown)
	case err != nil:
		if connection := (*net.OpError)(nil); do.URLSecretRef != nil && errors.As(err, &connection) {
			err = connection.Err // without the IP address
		}
		return "", fmt.Errorf("%s %s: %w", method, shown, errors.New(executor.Scrub(err.Error(), redact.New().And(secrets...))))
	case response.Status < 200 || response.Status > 299:
		return "", fmt.Errorf("%s %s: answers %d", method, shown, response.Status)
	}
	return fmt.Sprintf("%s %s answers %d", method, shown, response.Status), nil
}

// partsOf returns an address, and the parts of it that errors have.
func partsOf(address string) []string {
	parts := []string{address}
	if u, err := url.Parse(address); err == nil {
		parts = append(parts, u.Host, u.Hostname())
	}
	return parts
}

// bodyOf returns the body of a request, and sets its type.
func bodyOf(do *v1alpha1.HTTPReaction, header http.Header, on monitor.Occasion) ([]byte, error) {
	if do.Body == "" {
		return nil, nil
	}
	value, err := expression.Eval(expression.Rule(), string(do.Body), on.Vars)
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	text, ok := value.(string)
	raw := []byte(text)
	if !ok {
		if raw, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		if json.Valid(raw) {
			header.Set("Content-Type", "application/json")
		}
	}
	return raw, nil
}
