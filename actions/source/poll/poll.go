// Package poll requests an address again and again, and makes messages of its new items.
//
// The items that are done are remembered, with the ETag and the time of the last response, so an
// answer that hasn't changed costs a request without a body, also after a restart. [Next] is pure:
// it decides which items of a response are new. [Once] does one poll.
package poll

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/pequod-io/pequod/actions/egress"
	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/expression"
)

// MaxItems is the number of items of one response.
const MaxItems = 500

// State is what is known about earlier polls.
type State struct {
	ETag, LastModified string
	// Done are digests of the keys of items of the last response that are done, or are given up.
	Done []string
}

// Feed is what is polled.
type Feed struct {
	Request egress.Request
	// Items yields the items of a body, and Key the key of an item. Without Items, the body is
	// the only item; without Key, an item is known by its digest.
	Items, Key string
}

// Item is a new item.
type Item struct {
	Message source.Message
	// Digest is that of its key.
	Digest string
}

// Next returns the new items of a body in their order, and the digests of all items that were
// done before and are still there.
func Next(f Feed, s State, text []byte) (fresh []Item, done []string, err error) {
	items, err := f.items(text)
	if err != nil {
		return nil, nil, err
	}
	if len(items) > MaxItems {
		return nil, nil, fmt.Errorf("the response has %d items, more than %d", len(items), MaxItems)
	}
	seen := map[string]bool{}
	for i, item := range items {
		raw, err := json.Marshal(item)
		if err != nil {
			return nil, nil, fmt.Errorf("item %d: %w", i, err)
		}
		m := source.New("", nil, raw)
		m.Body, m.ID = item, m.Digest
		if f.Key != "" {
			if m.ID, err = expression.String(expression.Item(), f.Key, map[string]any{"item": item}); err != nil {
				return nil, nil, fmt.Errorf("key of item %d: %w", i, err)
			}
		}
		digest := source.New("", nil, []byte(m.ID)).Digest[:16]
		switch {
		case seen[digest]:
		case slices.Contains(s.Done, digest):
			done = append(done, digest)
		default:
			fresh = append(fresh, Item{m, digest})
		}
		seen[digest] = true
	}
	return fresh, done, nil
}

// items returns the items of a body.
func (f Feed) items(text []byte) ([]any, error) {
	var body any
	if err := utiljson.Unmarshal(text, &body); err != nil {
		return nil, errors.New("the response isn't JSON")
	}
	if f.Items == "" {
		return []any{body}, nil
	}
	value, err := expression.Eval(expression.Body(), f.Items, map[string]any{"body": body})
	if err != nil {
		return nil, fmt.Errorf("items: %w", err)
	}
	items, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("items: yields %T, not a list", value)
	}
	return items, nil
}

// Once polls once, and delivers the new items. The returned state is to be stored, also with an
// error: it has the items that were delivered before. deliver reports whether an item is done, or
// is given up.
func Once(ctx context.Context, client *egress.Client, f Feed, s State, deliver func(context.Context, Item) (done bool, err error)) (State, error) {
	request := f.Request
	request.Header = request.Header.Clone()
	if s.ETag != "" {
		request.Header.Set("If-None-Match", s.ETag)
	}
	if s.LastModified != "" {
		request.Header.Set("If-Modified-Since", s.LastModified)
	}
	response, err := client.Do(ctx, request)
	switch {
	case err != nil:
		return s, err
	case response.Status == http.StatusNotModified:
		return s, nil
	case response.Status != http.StatusOK:
		return s, fmt.Errorf("the server answers %d", response.Status)
	}
	fresh, done, err := Next(f, s, response.Body)
	if err != nil {
		return s, err
	}
	next := State{Done: done}
	var failed error
	for _, item := range fresh {
		ok, err := deliver(ctx, item)
		if ok {
			next.Done = append(next.Done, item.Digest)
		}
		if err != nil && failed == nil {
			failed = err
		}
		if !ok { // those after it wait, so that items keep their order
			break
		}
	}
	if len(next.Done) == len(done)+len(fresh) {
		// While an item is not done, the server has to send the whole response again.
		next.ETag, next.LastModified = response.Header.Get("ETag"), response.Header.Get("Last-Modified")
	}
	return next, failed
}
