package http

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/pequod-io/pequod/actions/executor"
	"github.com/pequod-io/pequod/actions/redact"
	"github.com/pequod-io/pequod/api/expression"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Executor implements [executor.Executor].
type Executor struct {
	executor.Unplanned
	server executor.Server
}

// New returns the executor.
func New(server executor.Server) *Executor { return &Executor{server: server} }

// Check implements [executor.Executor].
func (e *Executor) Check(request v1alpha1.ActionExecutor) []error {
	h := request.HTTP
	expressions := []struct{ field, expr string }{
		{"urlFrom", string(h.URLFrom)}, {"bodyFrom", string(h.BodyFrom)},
	}
	if p := h.Poll; p != nil {
		expressions = append(expressions, []struct{ field, expr string }{
			{"poll.url", string(p.URL)}, {"poll.until", string(p.Until)}, {"poll.failWhen", string(p.FailWhen)},
		}...)
	}
	if f := h.Find; f != nil {
		expressions = append(expressions, []struct{ field, expr string }{
			{"find.url", string(f.URL)}, {"find.foundWhen", string(f.FoundWhen)},
		}...)
	}
	if c := h.Cancel; c != nil {
		expressions = append(expressions, struct{ field, expr string }{"cancel.url", string(c.URL)})
	}
	found := executor.Static(request)
	for _, x := range expressions {
		if x.expr == "" {
			continue
		}
		if err := expression.Check(expression.Run(), x.expr); err != nil {
			found = append(found, fmt.Errorf("http.%s: %w", x.field, err))
		}
	}
	return found
}

// Find implements [executor.Executor].
func (e *Executor) Find(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	h := run.Request.HTTP
	switch {
	case run.Fresh:
		return nil, nil
	case h.Find == nil:
		return nil, executor.ErrUnknown
	}
	at, err := expression.String(expression.Run(), string(h.Find.URL), run.Vars(nil))
	if err != nil {
		return nil, &executor.Error{Class: executor.Terminal, Message: "http.find.url: " + err.Error()}
	}
	c, err := e.server.Call(ctx, run, executor.Request{Method: http.MethodGet, URL: at, HTTPRequest: &h.HTTPRequest, Poll: true})
	if err != nil {
		return nil, err
	}
	if c.Status == http.StatusNotFound {
		return nil, nil
	}
	if err := c.Failure(codes(nil), time.Now()); err != nil {
		return nil, err
	}
	if h.Find.FoundWhen != "" {
		found, err := expression.Bool(expression.Run(), string(h.Find.FoundWhen), run.Vars(c.Data()))
		if err != nil {
			return nil, &executor.Error{Class: executor.Terminal, Message: "http.find.foundWhen: " + err.Error()}
		}
		if !found {
			return nil, nil
		}
	}
	return e.begun(run, c)
}

// Begin implements [executor.Executor].
func (e *Executor) Begin(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	h := run.Request.HTTP
	request, err := first(run)
	if err != nil {
		return nil, err
	}
	c, err := e.server.Call(ctx, run, request)
	if err != nil {
		return nil, lost(h, err)
	}
	want := codes(h.Expect)
	if err := c.Failure(want, time.Now()); err != nil {
		return nil, lost(h, err)
	}
	return e.begun(run, c)
}

// lost returns the error of a request that isn't sent again.
func lost(h *v1alpha1.HTTPExecutor, err error) error {
	var known *executor.Error
	if errors.As(err, &known) && known.Class == executor.Unknown && h.Repeat == v1alpha1.HTTPRepeatNever && h.Find == nil && h.Method != http.MethodGet {
		return &executor.Error{Class: executor.Lost, Message: "the outcome is unknown, and repeat is Never: " + known.Message}
	}
	return err
}

// first returns the request that begins a run.
func first(run executor.Run) (executor.Request, error) {
	h := run.Request.HTTP
	r := executor.Request{Method: string(h.Method), URL: h.URL, HTTPRequest: &h.HTTPRequest, Key: run.Key}
	if r.Method == "" {
		r.Method = http.MethodPost
	}
	terminal := func(field string, err error) error {
		return &executor.Error{Class: executor.Terminal, Message: "http." + field + ": " + err.Error()}
	}
	var err error
	if h.URLFrom != "" {
		if r.URL, err = expression.String(expression.Run(), string(h.URLFrom), run.Vars(nil)); err != nil {
			return r, terminal("urlFrom", err)
		}
	}
	switch {
	case h.BodyFrom != "":
		value, err := expression.Eval(expression.Run(), string(h.BodyFrom), run.Vars(nil))
		if err != nil {
			return r, terminal("bodyFrom", err)
		}
		r.Body = value
	case h.Body != nil:
		r.Body = *h.Body
	}
	return r, nil
}

// begun returns the observation of the first response of a run.
func (e *Executor) begun(run executor.Run, c *executor.Call) (*executor.Observation, error) {
	h := run.Request.HTTP
	o := &executor.Observation{State: v1alpha1.RunRunning, Data: c.Data(), Raw: c.Raw(), Secrets: c.Secrets}
	switch {
	case h.Poll != nil:
		at, err := expression.String(expression.Run(), string(h.Poll.URL), run.Vars(o.Data))
		if err != nil {
			return failed(o, "http.poll.url: "+err.Error()), nil
		}
		o.ID = at
		done, err := e.judge(run, o)
		if err != nil || done {
			return o, err
		}
	case c.Status == http.StatusAccepted && c.Header.Get("Location") != "":
		o.ID = c.Resolve(c.Header.Get("Location"))
		if !sameHost(o.ID, c.URL) {
			return failed(o, "the Location is at another host"), nil
		}
	default:
		o.State = v1alpha1.RunSucceeded
		return o, nil
	}
	if strings.Contains(o.ID, redact.Mark) || o.Redactor().Leaks(o.ID) {
		o.ID = ""
		return failed(o, "the address to poll has a value of a Secret, which would be recorded"), nil
	}
	if signed(o.ID) {
		return failed(o, "the address to poll has credentials in its query, which would be recorded"), nil
	}
	o.URL, o.PollAfter = executor.PublicURL(o.ID), c.RetryAfter(time.Now())
	return o, nil
}

// Observe implements [executor.Executor].
func (e *Executor) Observe(ctx context.Context, run executor.Run) (*executor.Observation, error) {
	h := run.Request.HTTP
	if run.ID == "" { // it had ended with the first response
		return nil, &executor.Error{Class: executor.Gone, Message: "the response to the request isn't kept"}
	}
	c, err := e.server.Call(ctx, run, executor.Request{Method: http.MethodGet, URL: run.ID, HTTPRequest: &h.HTTPRequest, Poll: true})
	if err != nil {
		return nil, err
	}
	if err := c.Gone(); err != nil {
		return nil, err
	}
	o := &executor.Observation{State: v1alpha1.RunRunning, ID: run.ID, URL: executor.PublicURL(run.ID), Data: c.Data(), Raw: c.Raw(), Secrets: c.Secrets, PollAfter: c.RetryAfter(time.Now())}
	if h.Poll == nil {
		if c.Status == http.StatusAccepted {
			return o, nil
		}
		if err := c.Failure([]int32{200, 201, 204}, time.Now()); err != nil {
			return nil, err
		}
		o.State = v1alpha1.RunSucceeded
		return o, nil
	}
	if err := c.Failure(codes(nil), time.Now()); err != nil {
		return nil, err
	}
	if _, err := e.judge(run, o); err != nil {
		return nil, err
	}
	return o, nil
}

// judge sets the state of a run by the expressions of poll, and reports whether it has ended.
func (e *Executor) judge(run executor.Run, o *executor.Observation) (bool, error) {
	p := run.Request.HTTP.Poll
	if p.Every != "" && o.PollAfter == 0 {
		o.PollAfter, _ = time.ParseDuration(string(p.Every)) // the CRD checks its form
	}
	if p.FailWhen != "" {
		yes, err := expression.Bool(expression.Run(), string(p.FailWhen), run.Vars(o.Data))
		if err != nil {
			failed(o, "http.poll.failWhen: "+err.Error())
			return true, nil
		}
		if yes {
			o.State, o.Message = v1alpha1.RunFailed, "the server reports a failure: "+string(p.FailWhen)
			return true, nil
		}
	}
	yes, err := expression.Bool(expression.Run(), string(p.Until), run.Vars(o.Data))
	if err != nil {
		failed(o, "http.poll.until: "+err.Error())
		return true, nil
	}
	if yes {
		o.State = v1alpha1.RunSucceeded
	}
	return yes, nil
}

// Cancel implements [executor.Executor].
func (e *Executor) Cancel(ctx context.Context, run executor.Run) error {
	h := run.Request.HTTP
	if h.Cancel == nil {
		return executor.ErrNotSupported
	}
	at, err := expression.String(expression.Run(), string(h.Cancel.URL), run.Vars(nil))
	if err != nil {
		return &executor.Error{Class: executor.Terminal, Message: "http.cancel.url: " + err.Error()}
	}
	method := string(h.Cancel.Method)
	if method == "" {
		method = http.MethodPost
	}
	c, err := e.server.Call(ctx, run, executor.Request{Method: method, URL: at, HTTPRequest: &h.HTTPRequest})
	if err != nil {
		return err
	}
	if c.Status == http.StatusNotFound || c.Status == http.StatusConflict || c.Status == http.StatusGone {
		return nil // it has ended
	}
	return c.Failure(codes(nil), time.Now())
}

// failed makes an observation one of a run that failed for good.
func failed(o *executor.Observation, message string) *executor.Observation {
	o.State, o.Message, o.Permanent = v1alpha1.RunFailed, message, true
	return o
}

// codes returns the status codes that mean success.
func codes(expect *v1alpha1.HTTPExpect) []int32 {
	if expect != nil && len(expect.Status) > 0 {
		return expect.Status
	}
	return []int32{200, 201, 202, 204}
}

// credentials matches the names of query parameters that sign an address.
var credentials = regexp.MustCompile(`(?i)(sig|signature|token|secret|password|credential|key|auth|code)$`)

// signed reports whether an address has credentials in its query.
func signed(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return true
	}
	for name := range u.Query() {
		if credentials.MatchString(name) {
			return true
		}
	}
	return u.User != nil
}

// sameHost reports whether two addresses have the same scheme, host and port.
func sameHost(a, b string) bool {
	x, err := url.Parse(a)
	y, other := url.Parse(b)
	return err == nil && other == nil && x.Scheme == y.Scheme && strings.EqualFold(x.Host, y.Host)
}
