package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/identity"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/internal/httpwait"
)

// Secrets reads Secrets as a service account.
type Secrets interface {
	Secret(ctx context.Context, namespace, account, name string) (map[string][]byte, error)
}

// Server sends the requests of executors with the credentials of a run.
type Server struct {
	Client  *egress.Client
	Secrets Secrets
}

// Request is a request of a run.
type Request struct {
	Method, URL string
	// HTTPRequest has the headers, the credentials and the authorities.
	*v1alpha1.HTTPRequest
	// Body is a string, which is sent as it is, or a value that is sent as JSON.
	Body any
	// Key is sent as Idempotency-Key unless it is empty.
	Key string
	// Poll spends the budget of the server, and uses its ETags.
	Poll bool
	// Bearer is a token in place of that of Auth. Like it, it is only sent to the host of
	// HTTPRequest.URL.
	Bearer string
	// Secrets are other values of the request that must not leave the program.
	Secrets []string
}

// Call is a request with its response.
type Call struct {
	*egress.Response
	// URL is the address of the request.
	URL string
	// Secrets are the values of the Secrets that the request had.
	Secrets []string
}

// Call sends a request. The error is an *[Error].
func (s Server) Call(ctx context.Context, run Run, r Request) (*Call, error) {
	header, secrets, err := s.header(ctx, run, r.HTTPRequest)
	if err != nil {
		return nil, err
	}
	secrets = append(secrets, r.Secrets...)
	if r.Bearer != "" {
		header.Set("Authorization", "Bearer "+r.Bearer)
		secrets = append(secrets, r.Bearer)
	}
	if r.HTTPRequest.Auth != nil || r.HeadersSecretRef != nil || r.Bearer != "" {
		// The credentials are for one host, whatever an expression yields.
		if hostOf(r.HTTPRequest.URL) != hostOf(r.URL) {
			return nil, &Error{Class: Terminal, Message: "an expression yields an address at another host than url, which the credentials are for"}
		}
	}
	body, err := encode(r.Body, header)
	if err != nil {
		return nil, &Error{Class: Terminal, Message: "the body: " + err.Error()}
	}
	if r.Key != "" {
		header.Set("Idempotency-Key", r.Key)
	}
	response, err := s.Client.Do(ctx, egress.Request{
		Method: r.Method, URL: r.URL, Header: header, Body: body, CABundle: r.CABundle, Poll: r.Poll,
	})
	if err != nil {
		class, after := Unknown, time.Time{}
		var busy *egress.Busy
		var refused *egress.Refused
		var unsent *egress.Unsent
		switch {
		case errors.As(err, &busy):
			class, after = Later, busy.At
		case errors.As(err, &refused):
			class = Terminal
		case errors.As(err, &unsent):
			class = Retry
		}
		return nil, &Error{Class: class, After: after, Unsent: refused != nil && !refused.Sent, Message: redact.New(secrets...).Text(fmt.Sprintf("%s %s: %v", r.Method, PublicURL(r.URL), err))}
	}
	return &Call{response, r.URL, secrets}, nil
}

// header returns the headers of a request, and the secret values in them.
func (s Server) header(ctx context.Context, run Run, r *v1alpha1.HTTPRequest) (http.Header, []string, error) {
	header := http.Header{"Accept": {"application/json, */*;q=0.5"}}
	for name, value := range r.Headers {
		header.Set(name, string(value))
	}
	var secrets []string
	if ref := r.HeadersSecretRef; ref != nil {
		data, err := s.read(ctx, run, ref.Name)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(data)) {
			value := strings.TrimSpace(string(data[name]))
			header.Set(name, value)
			if redact.IsSecret(name) {
				secrets = append(secrets, value)
			}
		}
	}
	if a := r.Auth; a != nil {
		token, err := s.Secret(ctx, run, a.TokenSecretRef)
		if err != nil {
			return nil, nil, err
		}
		header.Set("Authorization", "Bearer "+token)
		secrets = append(secrets, token)
	}
	return header, secrets, nil
}

// Secret returns the value of a key of a Secret, without blanks around it. The error is an *[Error].
func (s Server) Secret(ctx context.Context, run Run, ref v1alpha1.SecretKeyRef) (string, error) {
	data, err := s.read(ctx, run, ref.Name)
	if err != nil {
		return "", err
	}
	value := strings.TrimSpace(string(data[ref.Key]))
	if value == "" {
		return "", &Error{Class: Retry, Message: fmt.Sprintf("Secret %s has no key %s", ref.Name, ref.Key)}
	}
	return value, nil
}

// read returns the data of a Secret. Others may create the Secret, or grant the right, at any time.
func (s Server) read(ctx context.Context, run Run, name string) (map[string][]byte, error) {
	data, err := s.Secrets.Secret(ctx, run.Namespace, run.Account, name)
	if err == nil {
		return data, nil
	}
	return nil, &Error{Class: Retry, Message: fmt.Sprintf("Secret %s: %s", name, identity.Reason(err))}
}

// encode returns the bytes of a body, and sets the type of the content.
func encode(body any, header http.Header) ([]byte, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(b), nil
	case runtime.RawExtension:
		var text string
		if json.Unmarshal(b.Raw, &text) == nil {
			return []byte(text), nil
		}
		data = b.Raw
	default:
		var err error
		if data, err = json.Marshal(b); err != nil {
			return nil, err
		}
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	return data, nil
}

// Data returns what expressions read of a response, without the credentials of the request, which the
// server may repeat: what an expression yields is recorded, or decides on what is.
func (c *Call) Data() map[string]any {
	return redact.New(c.Secrets...).Value(c.Raw()).(map[string]any)
}

// Raw returns what expressions of sensitive outputs read of a response.
func (c *Call) Raw() map[string]any {
	headers := map[string]any{}
	for name := range c.Header {
		headers[strings.ToLower(name)] = c.Header.Get(name)
	}
	return map[string]any{"response": map[string]any{"status": int64(c.Status), "headers": headers, "body": Decode(c.Body)}}
}

// Decode returns the value of a body for expressions: of JSON, else a string.
func Decode(body []byte) any {
	var value any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if d.Decode(&value) != nil || d.More() {
		return string(body)
	}
	return numbers(value)
}

// numbers replaces the numbers of decoded JSON with those that CEL knows.
func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64() // out of range it is infinite
		return f
	case map[string]any:
		for name := range v {
			v[name] = numbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return value
}

// Failure returns nil if the status code is one of those that mean success. Otherwise the
// error tells if a repetition may succeed, and when.
func (c *Call) Failure(want []int32, now time.Time) error {
	if slices.Contains(want, int32(c.Status)) {
		return nil
	}
	e := &Error{Class: Terminal, Message: redact.New(c.Secrets...).Text(fmt.Sprintf("%s answers %d %s", PublicURL(c.URL), c.Status, excerpt(c.Body)))}
	limited := c.Status == http.StatusForbidden && (c.Header.Get("Retry-After") != "" || c.Header.Get("X-Ratelimit-Remaining") == "0")
	switch {
	case c.Status == http.StatusTooManyRequests || limited:
		e.Class, e.After = Retry, now.Add(c.RetryAfter(now))
	case c.Status == http.StatusServiceUnavailable:
		e.Class, e.After = Unknown, now.Add(c.RetryAfter(now))
	case c.Status >= 500, c.Status == http.StatusRequestTimeout:
		e.Class = Unknown
	case c.Status == http.StatusUnauthorized, c.Status == http.StatusForbidden:
		e.Message += "; check the credentials of the server and their rights"
	}
	return e
}

// Gone returns an error if the server knows a run no longer.
func (c *Call) Gone() error {
	if c.Status != http.StatusNotFound && c.Status != http.StatusGone {
		return nil
	}
	return &Error{Class: Gone, Message: redact.New(c.Secrets...).Text(fmt.Sprintf("the run is gone: %s answers %d", PublicURL(c.URL), c.Status))}
}

// RetryAfter returns how long the server wants to be left alone, at most a day.
func (c *Call) RetryAfter(now time.Time) time.Duration {
	wait, _ := httpwait.Demanded(c.Header, now)
	return wait
}

// Resolve returns an address that is relative to that of the request.
func (c *Call) Resolve(address string) string {
	base, err := url.Parse(c.URL)
	if err != nil {
		return address
	}
	u, err := base.Parse(address)
	if err != nil {
		return address
	}
	return u.String()
}

// PublicURL returns an address without what may be secret in it: the user and the query.
func PublicURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "the address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}
