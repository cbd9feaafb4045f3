package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pequod-io/pequod/internal/httpwait"
)

// Options configure [Run]. URL is required.
type Options struct {
	// URL is the address of the server, as spec.external.url of an Action.
	URL string
	// Client sends the requests; nil means a client with the system's authorities.
	Client *http.Client
	// Token is sent as Authorization: Bearer. Without it the checks of credentials are left out.
	Token string
	// Inputs are those of the runs, with which a run must succeed.
	Inputs json.RawMessage
	// Timeout limits the time until a run has ended; 0 means 5 minutes.
	Timeout time.Duration
	// Poll is the time between two looks at a run; 0 means 1 second. Retry-After makes it longer.
	Poll time.Duration

	// prefix begins the keys of all runs.
	prefix string
}

// Result is the result of one check.
type Result struct {
	// Check describes the requirement.
	Check string
	// Err is how it doesn't, or nil.
	Err error
	// Skipped is why the check was not made, or "".
	Skipped string
}

// Run makes all checks in turn, and calls report with each result. A check that needs the run of a
// failed one is skipped. The error means that the server can't be reached.
func Run(ctx context.Context, o Options, report func(Result)) error {
	random := make([]byte, 12)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	o.prefix = "conformance-" + hex.EncodeToString(random)
	c := &client{Options: o, http: &http.Client{}}
	if o.Client != nil {
		own := *o.Client
		c.http = &own
	}
	// Credentials must not follow a redirect, so pequod-actions follows none.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Minute
	}
	if c.Poll == 0 {
		c.Poll = time.Second
	}
	if _, err := c.send(ctx, http.MethodGet, "/v1/runs/"+c.key("none"), o.Token, nil); err != nil {
		return err
	}
	failed := map[string]bool{}
	for _, check := range checks {
		result := Result{Check: check.name}
		switch {
		case failed[check.needs]:
			result.Skipped = "needs a check that failed"
		case check.token && o.Token == "":
			result.Skipped = "no token"
		default:
			result.Err = check.run(ctx, c)
		}
		if check.id != "" {
			failed[check.id] = result.Err != nil || result.Skipped != ""
		}
		report(result)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// key returns the key of a run of this conformance test.
func (c *client) key(name string) string { return c.prefix + "-" + name }

// begin is the body of a PUT.
func (c *client) begin(purpose string, attempt int, more map[string]any) map[string]any {
	inputs := c.Inputs
	if inputs == nil {
		inputs = json.RawMessage(`{}`)
	}
	body := map[string]any{
		"namespace": "conformance", "name": "conformance", "purpose": purpose, "generation": 1, "attempt": attempt, "inputs": inputs,
	}
	for k, v := range more {
		body[k] = v
	}
	return body
}

// put begins a run, and returns its state.
func (c *client) put(ctx context.Context, path string, body any) (*state, error) {
	r, err := c.call(ctx, http.MethodPut, path, body, 200, 201, 202)
	if err != nil {
		return nil, err
	}
	return r.state()
}

// get returns the state of a run.
func (c *client) get(ctx context.Context, key string) (*state, *response, error) {
	r, err := c.call(ctx, http.MethodGet, "/v1/runs/"+key, nil, 200)
	if err != nil {
		return nil, r, err
	}
	s, err := r.state()
	return s, r, err
}

// await looks at a run until its phase fulfils a condition.
func (c *client) await(ctx context.Context, key, what string, done func(*state) (bool, error)) (*state, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	last := ""
	for {
		s, r, err := c.get(ctx, key)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("the run is not %s after %s: the last phase is %s", what, c.Timeout, last)
		case err != nil:
			return nil, err
		}
		last = s.Phase
		if ok, err := done(s); ok || err != nil {
			return s, err
		}
		after, _ := httpwait.Demanded(r.header, time.Now())
		select {
		case <-ctx.Done():
		case <-time.After(max(c.Poll, after)):
		}
	}
}

// succeeded waits for the end of a run, which must be a success.
func (c *client) succeeded(ctx context.Context, key string) (*state, error) {
	return c.await(ctx, key, "Succeeded", func(s *state) (bool, error) {
		switch {
		case s.Phase == "WaitingForApproval":
			return false, errors.New("the run waits for approval, and approval was not asked for")
		case s.ended() && s.Phase != "Succeeded":
			return false, fmt.Errorf("the run has ended as %s: %s", s.Phase, s.Message)
		}
		return s.Phase == "Succeeded", nil
	})
}
