package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
)

// check is one check.
type check struct {
	// id is the name of the run that the check makes, and needs that of another check's.
	id, needs string
	// token is set if the check needs a token.
	token bool
	name  string
	run   func(context.Context, *client) error
}

// checks are all checks in their order.
var checks = []check{
	{name: "an unknown run is 404", run: unknown},
	{name: "a request without the token is refused", token: true, run: func(ctx context.Context, c *client) error { return refusesToken(ctx, c, "") }},
	{name: "a request with another token is refused", token: true, run: func(ctx context.Context, c *client) error { return refusesToken(ctx, c, c.Token+"x") }},
	{name: "a body that is not JSON begins no run", run: refusesBody},
	{id: "begun", name: "PUT begins a run, which GET shows at once", run: begins},
	{id: "ended", needs: "begun", name: "the run succeeds", run: func(ctx context.Context, c *client) error {
		_, err := c.succeeded(ctx, c.key("first"))
		return err
	}},
	{needs: "ended", name: "a run that has ended doesn't change", run: stays},
	{needs: "ended", name: "PUT with the key of an ended run begins no second run", run: repeats},
	{needs: "ended", name: "requests with one key at the same time begin one run", run: concurrent},
	{needs: "ended", name: "a run that has ended can't be cancelled: 409", run: func(ctx context.Context, c *client) error {
		_, err := c.call(ctx, http.MethodPost, "/v1/runs/"+c.key("first")+"/cancel", nil, 409)
		return err
	}},
	{id: "planned", needs: "begun", name: "a run with approval waits with a plan", run: plans},
	{id: "approved", needs: "planned", name: "the digest of another plan doesn't approve: 409", run: refusesDigest},
	{needs: "approved", name: "the digest of the plan approves, and the run succeeds", run: approves},
	{needs: "planned", name: "a run that waits can be cancelled", run: cancels},
	{needs: "ended", name: "PUT /v1/destroy begins a run that undoes the last one", run: destroys},
}

func unknown(ctx context.Context, c *client) error {
	_, err := c.call(ctx, http.MethodGet, "/v1/runs/"+c.key("none"), nil, 404)
	return err
}

// refusesToken checks that a run is neither shown nor begun with a token.
func refusesToken(ctx context.Context, c *client, token string) error {
	body, err := json.Marshal(c.begin("Apply", 1, nil))
	if err != nil {
		return err
	}
	key := c.key("refused")
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		var sent []byte
		if method == http.MethodPut {
			sent = body
		}
		r, err := c.send(ctx, method, "/v1/runs/"+key, token, sent)
		if err != nil {
			return err
		}
		if err := r.expect(401, 403); err != nil {
			return err
		}
	}
	_, err = c.call(ctx, http.MethodGet, "/v1/runs/"+key, nil, 404)
	return err
}

// refusesBody checks that a code 4xx means that the request had no effect.
func refusesBody(ctx context.Context, c *client) error {
	path := "/v1/runs/" + c.key("broken")
	r, err := c.send(ctx, http.MethodPut, path, c.Token, []byte(`{"namespace": `))
	if err != nil {
		return err
	}
	if r.code < 400 || r.code >= 500 {
		return fmt.Errorf("%s answers %d, not 4xx", r.what, r.code)
	}
	_, err = c.call(ctx, http.MethodGet, path, nil, 404)
	return err
}

func begins(ctx context.Context, c *client) error {
	// Fields may be added to the protocol, so a server must ignore those that it doesn't know.
	body := c.begin("Apply", 1, map[string]any{"conformanceUnknownField": map[string]any{"a": 1}})
	if _, err := c.put(ctx, "/v1/runs/"+c.key("first"), body); err != nil {
		return err
	}
	_, _, err := c.get(ctx, c.key("first"))
	return err
}

// same returns how two states of one run that has ended differ.
func same(before, after *state) error {
	var a, b any
	_ = json.Unmarshal(before.Outputs, &a) // no outputs are nil
	_ = json.Unmarshal(after.Outputs, &b)
	switch {
	case before.Phase != after.Phase:
		return fmt.Errorf("the phase was %s, and is %s", before.Phase, after.Phase)
	case before.URL != after.URL:
		return fmt.Errorf("the url was %s, and is %s", before.URL, after.URL)
	case !reflect.DeepEqual(a, b):
		return errors.New("the outputs have changed")
	}
	return nil
}

func stays(ctx context.Context, c *client) error {
	before, _, err := c.get(ctx, c.key("first"))
	if err != nil {
		return err
	}
	after, _, err := c.get(ctx, c.key("first"))
	if err != nil {
		return err
	}
	return same(before, after)
}

func repeats(ctx context.Context, c *client) error {
	before, _, err := c.get(ctx, c.key("first"))
	if err != nil {
		return err
	}
	answer, err := c.put(ctx, "/v1/runs/"+c.key("first"), c.begin("Apply", 1, nil))
	if err != nil {
		return err
	}
	if err := same(before, answer); err != nil {
		return err
	}
	after, _, err := c.get(ctx, c.key("first"))
	if err != nil {
		return err
	}
	return same(before, after)
}

// concurrent begins one run with several requests. Their states have one address, and a run that
// was begun twice has two results.
func concurrent(ctx context.Context, c *client) error {
	key := c.key("concurrent")
	const requests = 8
	states, errs := make([]*state, requests), make([]error, requests)
	var wait sync.WaitGroup
	for i := range requests {
		wait.Go(func() { states[i], errs[i] = c.put(ctx, "/v1/runs/"+key, c.begin("Apply", 2, nil)) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return errors.New(strings.SplitN(err.Error(), "\n", 2)[0])
	}
	ended, err := c.succeeded(ctx, key)
	if err != nil {
		return err
	}
	for _, s := range states {
		if s.Phase != "Succeeded" && s.URL != ended.URL {
			return fmt.Errorf("the url was %s, and is %s", s.URL, ended.URL)
		}
		if s.Phase == "Succeeded" {
			if err := same(s, ended); err != nil {
				return err
			}
		}
	}
	return nil
}

// plan begins a run with approval, and waits for its plan.
func (c *client) plan(ctx context.Context, name string, attempt int) (*state, error) {
	key := c.key(name)
	if _, err := c.put(ctx, "/v1/runs/"+key, c.begin("Apply", attempt, map[string]any{"approval": true})); err != nil {
		return nil, err
	}
	return c.await(ctx, key, "WaitingForApproval", func(s *state) (bool, error) {
		if s.ended() {
			return false, fmt.Errorf("the run has ended as %s without an approval", s.Phase)
		}
		return s.Phase == "WaitingForApproval", nil
	})
}

func plans(ctx context.Context, c *client) error {
	_, err := c.plan(ctx, "planned", 3)
	return err
}

func refusesDigest(ctx context.Context, c *client) error {
	key := c.key("planned")
	if _, err := c.call(ctx, http.MethodPost, "/v1/runs/"+key+"/approve", map[string]string{"digest": "sha256:another"}, 409); err != nil {
		return err
	}
	s, _, err := c.get(ctx, key)
	if err == nil && s.Phase != "WaitingForApproval" {
		err = fmt.Errorf("the run is %s after the refusal", s.Phase)
	}
	return err
}

func approves(ctx context.Context, c *client) error {
	key := c.key("planned")
	s, _, err := c.get(ctx, key)
	if err != nil {
		return err
	}
	if s.Plan == nil {
		return fmt.Errorf("the run is %s, and has no plan", s.Phase)
	}
	digest := s.Plan.Digest
	if _, err := c.call(ctx, http.MethodPost, "/v1/runs/"+key+"/approve", map[string]string{"digest": digest}, 200, 202, 204); err != nil {
		return err
	}
	_, err = c.await(ctx, key, "Succeeded", func(s *state) (bool, error) {
		if s.ended() && s.Phase != "Succeeded" {
			return false, fmt.Errorf("the run has ended as %s: %s", s.Phase, s.Message)
		}
		return s.Phase == "Succeeded", nil
	})
	return err
}

func cancels(ctx context.Context, c *client) error {
	if _, err := c.plan(ctx, "cancelled", 4); err != nil {
		return err
	}
	key := c.key("cancelled")
	if _, err := c.call(ctx, http.MethodPost, "/v1/runs/"+key+"/cancel", nil, 200, 202, 204); err != nil {
		return err
	}
	_, err := c.await(ctx, key, "Cancelled", func(s *state) (bool, error) {
		if s.ended() && s.Phase != "Cancelled" {
			return false, fmt.Errorf("the run has ended as %s", s.Phase)
		}
		return s.Phase == "Cancelled", nil
	})
	return err
}

func destroys(ctx context.Context, c *client) error {
	first, _, err := c.get(ctx, c.key("first"))
	if err != nil {
		return err
	}
	key := c.key("destroy")
	body := c.begin("Destroy", 5, map[string]any{"previous": first.Outputs})
	if _, err := c.put(ctx, "/v1/destroy/"+key, body); err != nil {
		return err
	}
	_, err = c.succeeded(ctx, key)
	return err
}
