package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// reading is one reading of a Monitor's targets.
type reading struct {
	prober  *Prober
	m       *v1alpha1.Monitor
	timeout time.Duration
	header  http.Header
	// secrets are the values of headers, which no error may have.
	secrets []string
}

// headers returns the headers of the probe that a Secret has, and their values.
func (p *Prober) headers(ctx context.Context, m *v1alpha1.Monitor) (http.Header, []string, error) {
	var ref *v1alpha1.SecretRef
	switch probe := m.Spec.Probe; {
	case probe.GraphQL != nil:
		ref = probe.GraphQL.HeadersSecretRef
	case probe.HTTP != nil:
		ref = probe.HTTP.HeadersSecretRef
	}
	return Headers(ctx, p.Accounts, m, ref)
}

// Secrets reads Secrets as a service account.
type Secrets interface {
	Secret(ctx context.Context, namespace, account, name string) (map[string][]byte, error)
}

// Headers returns the headers that a Secret has, and their values. The Secret is read as the
// account of the Monitor.
func Headers(ctx context.Context, secrets Secrets, m *v1alpha1.Monitor, ref *v1alpha1.SecretRef) (http.Header, []string, error) {
	header := http.Header{}
	if ref == nil {
		return header, nil, nil
	}
	data, err := secrets.Secret(ctx, m.Namespace, m.Spec.ServiceAccountName, ref.Name)
	if err != nil {
		//lint:ignore ST1005 it begins with a kind
		return nil, nil, fmt.Errorf("Secret %s: %s", ref.Name, identity.Reason(err))
	}
	var values []string
	for _, name := range slices.Sorted(maps.Keys(data)) {
		value := strings.TrimSpace(string(data[name]))
		header.Set(name, value)
		if redact.IsSecret(name) {
			values = append(values, value)
		}
	}
	return header, values, nil
}

// ask sends the probe to a server and returns the variable of its answer.
func (r *reading) ask(ctx context.Context, client *egress.Client, base, host string) (map[string]any, error) {
	done, err := r.prober.limits.take(ctx, host)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	request := egress.Request{Header: r.header.Clone(), CABundle: r.m.Spec.Target.CABundle, ServerName: r.m.Spec.Target.ServerName}
	answered := graphql
	if probe := r.m.Spec.Probe.GraphQL; probe != nil {
		err = queryRequest(&request, base, probe)
	} else {
		httpRequest(&request, base, r.m.Spec.Probe.HTTP)
		answered = func(response *egress.Response) (map[string]any, error) {
			return answer(r.m.Spec.Probe.HTTP, response)
		}
	}
	if err != nil {
		return nil, err
	}
	response, err := client.Do(ctx, request)
	known := redact.New(r.secrets...)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("no answer within %s", r.timeout)
	case err != nil:
		return nil, errors.New(executor.Scrub(cause(err).Error(), known))
	case response.Header.Get("Content-Encoding") != "" && response.Header.Get("Content-Encoding") != "identity":
		return nil, errors.New("the answer is compressed, which was not asked for")
	}
	data, err := answered(response)
	if err != nil {
		return nil, errors.New(executor.Scrub(err.Error(), known))
	}
	// The server may repeat its credentials, and the state is recorded.
	return known.Value(data).(map[string]any), nil
}

// cause returns an error of the network without the address of this side, whose port differs from
// poll to poll: each other message would be a change of the status.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return err
}

// queryRequest makes the request of a GraphQL query.
func queryRequest(request *egress.Request, base string, probe *v1alpha1.GraphQLProbe) error {
	body := map[string]any{"query": probe.Query}
	if probe.Variables != nil {
		body["variables"] = json.RawMessage(probe.Variables.Raw)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	path := probe.Path
	if path == "" {
		path = "/graphql"
	}
	request.Method, request.URL, request.Body = http.MethodPost, base+string(path), raw
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/graphql-response+json, application/json;q=0.9")
	return nil
}

// graphql returns the data of an answer to a query. An answer with errors is none, because its data
// is incomplete.
func graphql(response *egress.Response) (map[string]any, error) {
	body, ok := executor.Decode(response.Body).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("answers %d without a JSON object", response.Status)
	}
	if list, ok := body["errors"].([]any); ok && len(list) > 0 {
		text := "the answer has errors"
		if first, ok := list[0].(map[string]any); ok {
			if message, ok := first["message"].(string); ok {
				text += ": " + message
			}
		}
		return nil, errors.New(text)
	}
	if response.Status != http.StatusOK {
		return nil, fmt.Errorf("answers %d", response.Status)
	}
	data, ok := body["data"].(map[string]any)
	if !ok {
		return nil, errors.New("the answer has no data")
	}
	return map[string]any{"data": data}, nil
}

// httpRequest makes the request of a probe.
func httpRequest(request *egress.Request, base string, probe *v1alpha1.HTTPProbe) {
	request.Method, request.URL = probe.Method, base+string(probe.Path)
	if request.Method == "" {
		request.Method = http.MethodGet
	}
	if probe.Path == "" {
		request.URL = base + "/"
	}
}

// answer returns the variable response of an answer with an expected code.
func answer(probe *v1alpha1.HTTPProbe, response *egress.Response) (map[string]any, error) {
	if !probe.Expects(response.Status) {
		return nil, fmt.Errorf("answers %d", response.Status)
	}
	return (&executor.Call{Response: response}).Data(), nil
}
