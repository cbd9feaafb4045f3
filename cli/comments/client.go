package comments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pequod-io/pequod/internal/httpwait"
	"github.com/pequod-io/pequod/internal/jsonlimit"
	"github.com/pequod-io/pequod/internal/source"
)

const (
	// attempts is how often a request is sent at most.
	attempts = 5
	// maxDelay limits the wait that a host may demand, so that no pipeline waits for
	// hours.
	maxDelay = 2 * time.Minute
	// maxAnswer limits the size of an answer. 100 comments of the greatest length are
	// less.
	maxAnswer = 64 << 20
)

// client sends requests to the API of a host.
type client struct {
	base string
	// header authenticates.
	header http.Header
	http   *http.Client
	// wait waits, or returns the error of ctx if that ends first.
	wait func(ctx context.Context, d time.Duration) error
}

// statusError is an answer that is no success.
type statusError struct {
	method, path string
	status       int
	message      string
}

func (e *statusError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.method, e.path, e.status, http.StatusText(e.status))
	if e.message != "" {
		text += ": " + source.Escape(e.message, "")
	}
	switch {
	case e.status == http.StatusUnauthorized:
		text += "; renew the token"
	case e.status == http.StatusForbidden:
		text += "; give the token the right to write comments on pull requests"
	case e.status == http.StatusNotFound:
		text += "; check the repository, the number, and what the token may read"
	case e.status >= http.StatusInternalServerError:
		text += "; try again later"
	}
	return text
}

// newClient returns a client. A token is never sent in plain text to another machine.
func newClient(base string, header http.Header) (*client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("address of the API: %w", err)
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())) {
		return nil, fmt.Errorf("address of the API %q: want https", base)
	}
	return &client{
		base: strings.TrimSuffix(base, "/"), header: header,
		http: &http.Client{
			Timeout: 30 * time.Second,
			// A redirect could lead the token to another machine.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		wait: httpwait.Wait,
	}, nil
}

// request is a request with a JSON body, which may be nil.
type request struct {
	// path is below the client's base, or a whole address.
	method, path string
	body         any
	// once means that a second request has an effect of its own.
	once bool
}

// do sends a request and decodes the answer into into, which may be nil. It repeats
// the request if the host refused it for the moment. After a broken connection or an
// error of the server the request may have been carried out: it is repeated, but a
// request with once fails with errUncertain after a pause.
func (c *client) do(ctx context.Context, r request, into any) error {
	var data []byte
	if r.body != nil {
		var err error
		if data, err = json.Marshal(r.body); err != nil {
			return err
		}
	}
	for n := 1; ; n++ {
		resp, err := c.send(ctx, r, data)
		delay, limited := backoff(n), false
		if err == nil {
			var demanded time.Duration
			demanded, limited = limit(resp, time.Now())
			delay = max(delay, demanded)
		}
		passing := err != nil || resp.status >= 500
		if !passing && !limited {
			return resp.decode(r, into)
		}
		if n == attempts || delay > maxDelay || ctx.Err() != nil {
			if err == nil {
				err = resp.decode(r, nil)
			}
			if limited && delay > maxDelay {
				err = fmt.Errorf("%w; try again in %s", err, delay.Round(time.Second))
			}
			return err
		}
		if err := c.wait(ctx, delay); err != nil {
			return err
		}
		if passing && r.once {
			return errUncertain
		}
	}
}

// answer is an answer that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (c *client) send(ctx context.Context, r request, data []byte) (answer, error) {
	address := r.path
	if !strings.Contains(address, "://") {
		address = c.base + address
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(data))
	if err != nil {
		return answer{}, err
	}
	req.Header = c.header.Clone()
	req.Header.Set("User-Agent", "pequod")
	if data != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close() // it was only read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return answer{resp.StatusCode, resp.Header, body}, err
}

// decode returns the error of an answer, or decodes it.
func (a answer) decode(r request, into any) error {
	if a.status >= 200 && a.status < 300 {
		if into == nil || len(a.body) == 0 {
			return nil
		}
		err := jsonlimit.Check(a.body, jsonlimit.Message)
		if err == nil {
			err = json.Unmarshal(a.body, into)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
		return nil
	}
	// GitHub's message is a string, and GitLab's a string or an object.
	var answer struct{ Message, Error any }
	if jsonlimit.Check(a.body, jsonlimit.Message) == nil {
		_ = json.Unmarshal(a.body, &answer) // not every error is JSON
	}
	e := &statusError{method: r.method, path: r.path, status: a.status}
	for _, m := range []any{answer.Message, answer.Error} {
		if m != nil && e.message == "" {
			e.message = fmt.Sprint(m)
		}
	}
	return e
}

// limit reports whether the host refused a request because there were too many, and how
// long it wants the client to wait.
func limit(a answer, now time.Time) (time.Duration, bool) {
	demanded, known := httpwait.Demanded(a.header, now)
	return demanded, a.status == http.StatusTooManyRequests || a.status == http.StatusForbidden && known
}

// gone turns the answers for a missing comment into ErrGone.
func gone(err error) error {
	var status *statusError
	if errors.As(err, &status) && (status.status == http.StatusNotFound || status.status == http.StatusGone) {
		return ErrGone
	}
	return err
}

// backoff returns the delay after the given attempt: 1, 2, 4 and 8 seconds.
func backoff(attempt int) time.Duration { return time.Second << (attempt - 1) }
