package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pequod-io/pequod/internal/source"
)

// maxBody is the size of a response in bytes that pequod-actions reads.
const maxBody = 1 << 20

// maxQuoted is how much of what the server says is in an error, in bytes.
const maxQuoted = 200

// client sends requests to one server.
type client struct {
	Options
	http *http.Client
}

// response is a response of the server.
type response struct {
	code   int
	body   []byte
	header http.Header
	// what names the request in errors.
	what string
}

// state is the state of a run.
type state struct {
	Phase     string          `json:"phase"`
	Message   string          `json:"message"`
	URL       string          `json:"url"`
	Outputs   json.RawMessage `json:"outputs"`
	Permanent bool            `json:"permanent"`
	Plan      *struct {
		Digest  string `json:"digest"`
		Summary string `json:"summary"`
	} `json:"plan"`
}

// ended reports whether the run has ended.
func (s *state) ended() bool {
	return s.Phase == "Succeeded" || s.Phase == "Failed" || s.Phase == "Cancelled"
}

// send sends a request with a token. The body is sent as it is.
func (c *client) send(ctx context.Context, method, path, token string, body []byte) (*response, error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the address, which the caller knows
		}
		return nil, &unreachable{fmt.Errorf("%s %s: %w", method, path, err)}
	}
	defer answer.Body.Close() // it was read
	read, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	what := method + " " + strings.Replace(path, c.prefix, "KEY", 1)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: reading the response: %w", what, err)
	case len(read) > maxBody:
		return nil, fmt.Errorf("%s: the response has more than %d bytes", what, maxBody)
	}
	return &response{answer.StatusCode, read, answer.Header, what}, nil
}

// unreachable is the error of a request without a response.
type unreachable struct{ error }

func (u *unreachable) Unwrap() error { return u.error }

// call sends a request with the token, and returns an error unless the code is one of want.
func (c *client) call(ctx context.Context, method, path string, body any, want ...int) (*response, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := c.send(ctx, method, path, c.Token, data)
	if err != nil {
		return nil, err
	}
	return r, r.expect(want...)
}

// expect returns an error unless the code of the response is one of want.
func (r *response) expect(want ...int) error {
	var words []string
	for _, code := range want {
		if r.code == code {
			return nil
		}
		words = append(words, strconv.Itoa(code))
	}
	text := source.OneLine(string(r.body), maxQuoted)
	if text != "" {
		text = ": " + text
	}
	return fmt.Errorf("%s answers %d, not %s%s", r.what, r.code, strings.Join(words, " or "), text)
}

// phases are the phases of runs.
var phases = map[string]bool{
	"Pending": true, "Running": true, "WaitingForApproval": true, "Succeeded": true, "Failed": true, "Cancelled": true,
}

// state returns the state of a run that a response has.
func (r *response) state() (*state, error) {
	s := &state{}
	if err := json.Unmarshal(r.body, s); err != nil {
		return nil, fmt.Errorf("%s: the response is not the state of a run: %w", r.what, err)
	}
	if !phases[s.Phase] {
		return nil, fmt.Errorf("%s: %q is not a phase", r.what, source.OneLine(s.Phase, maxQuoted))
	}
	s.Message = source.OneLine(s.Message, maxQuoted)
	if s.URL != "" {
		if u, err := url.Parse(s.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return nil, fmt.Errorf("%s: url is not an address that people can open", r.what)
		}
	}
	if outputs := bytes.TrimSpace(s.Outputs); len(outputs) > 0 && outputs[0] != '{' && string(outputs) != "null" {
		return nil, fmt.Errorf("%s: outputs is not an object", r.what)
	}
	if s.Phase == "WaitingForApproval" && (s.Plan == nil || s.Plan.Digest == "" || len(s.Plan.Digest) > 80) {
		return nil, fmt.Errorf("%s: WaitingForApproval without a plan.digest of 1 to 80 characters", r.what)
	}
	return s, nil
}
