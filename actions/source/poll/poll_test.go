package poll

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pequod-io/pequod/actions/egress"
)

// ids returns the keys of items.
func ids(items []Item) (keys []string) {
	for _, item := range items {
		keys = append(keys, item.Message.ID)
	}
	return keys
}

// TestNext checks which items of a response are new.
func TestNext(t *testing.T) {
	t.Parallel()
	events := Feed{Items: "body.events", Key: "string(item.id)"}
	_, err := events.items([]byte(`{"events": [{"id": 1}, {"id": 12345678901}, {"id": 1}]}`))
	if err != nil {
		t.Fatal(err)
	}
	first, done, err := Next(events, State{}, []byte(`{"events": [{"id": 1}, {"id": 12345678901}, {"id": 1}]}`))
	if diff := cmp.Diff([]string{"1", "12345678901"}, ids(first)); diff != "" || err != nil || len(done) != 0 {
		t.Errorf("first: %s %v %v", diff, done, err)
	}
	state := State{Done: []string{first[0].Digest, "another"}}
	second, done, err := Next(events, state, []byte(`{"events": [{"id": 3}, {"id": 1}]}`))
	if diff := cmp.Diff([]string{"3"}, ids(second)); diff != "" || err != nil {
		t.Errorf("second: %s %v", diff, err)
	}
	if diff := cmp.Diff([]string{first[0].Digest}, done); diff != "" { // "another" isn't in the response any more
		t.Errorf("done: %s", diff)
	}
	whole, _, err := Next(Feed{}, State{}, []byte(`{"version": 1}`))
	if err != nil || len(whole) != 1 || whole[0].Message.Body.(map[string]any)["version"] != int64(1) {
		t.Errorf("whole: %v %v", whole, err)
	}
	if again, _, err := Next(Feed{}, State{Done: []string{whole[0].Digest}}, []byte(`{ "version":1 }`)); err != nil || len(again) != 0 {
		t.Errorf("the same body is new: %v %v", again, err)
	}
	for body, want := range map[string]string{
		`{`:              "isn't JSON",
		`{"events": {}}`: "not a list",
		`{}`:             "items: waits for body.events",
		`{"events": [` + strings.Repeat(`{"id": 1},`, MaxItems) + `{"id": 2}]}`: "more than 500",
		`{"events": [{}]}`: "key of item 0: waits for item.id",
	} {
		if _, _, err := Next(events, State{}, []byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, want %s", body, err, want)
		}
	}
}

// TestOnce polls a server with ETags. An item that isn't done has the response sent again.
func TestOnce(t *testing.T) {
	t.Parallel()
	var bodies, unchanged int
	body := `[{"id": "a"}, {"id": "b"}]`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tag := fmt.Sprintf("%q", fmt.Sprint(len(body)))
		if r.Header.Get("If-None-Match") == tag && r.Header.Get("If-Modified-Since") == "then" {
			unchanged++
			w.WriteHeader(http.StatusNotModified)
			return
		}
		bodies++
		w.Header().Set("ETag", tag)
		w.Header().Set("Last-Modified", "then")
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	allowed, err := egress.ParseAllowed([]string{"127.0.0.0/8", "http://127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	client := egress.New(egress.Options{Allowed: allowed})
	feed := Feed{Request: egress.Request{Method: "GET", URL: server.URL, Header: http.Header{}}, Items: "body", Key: "item.id"}
	state := State{}
	var delivered []string
	failing := "b"
	once := func(wantErr bool) {
		t.Helper()
		next, err := Once(t.Context(), client, feed, state, func(_ context.Context, item Item) (bool, error) {
			if item.Message.ID == failing {
				return false, errors.New("away")
			}
			delivered = append(delivered, item.Message.ID)
			return true, nil
		})
		if (err != nil) != wantErr {
			t.Fatalf("error: %v", err)
		}
		state = next
	}
	once(true)
	if state.ETag != "" || len(state.Done) != 1 {
		t.Errorf("a response that isn't done is remembered: %+v", state)
	}
	failing = ""
	once(false)
	once(false)
	once(false)
	if bodies != 2 || unchanged != 2 {
		t.Errorf("%d bodies, %d times unchanged", bodies, unchanged)
	}
	body = `[{"id": "b"}, {"id": "c"}]`
	body += " " // another ETag
	once(false)
	if diff := cmp.Diff([]string{"a", "b", "c"}, delivered); diff != "" {
		t.Errorf("delivered: %s", diff)
	}
}
