package effect

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pequod-io/pequod/actions/source"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// TestDecide checks filters, keys and replay windows.
func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	m := source.New("delivery-1", http.Header{"X-Event": {"push"}, "Authorization": {"Bearer canary"}},
		[]byte(`{"id": 12345678901, "at": "2026-01-02T03:00:05Z", "unix": 1767322800, "later": "2026-01-02T03:10:00Z", "name": "x"}`))
	if _, has := m.Headers["authorization"]; has {
		t.Error("expressions see a credential")
	}
	type spec = v1alpha1.ReceiverSpec
	replay := func(timestamp, window string) *v1alpha1.ReceiverReplay {
		return &v1alpha1.ReceiverReplay{Timestamp: v1alpha1.ReceiverExpression(timestamp), Window: v1alpha1.Duration(window)}
	}
	for _, test := range []struct {
		name string
		spec spec
		key  string // "" means skipped
		err  string
	}{
		{"plain", spec{}, "delivery-1", ""},
		{"passes", spec{Filter: `headers["x-event"] == "push" && string(body.id) == "12345678901"`}, "delivery-1", ""},
		{"left out", spec{Filter: `body.name == "y"`}, "", ""},
		{"missing value", spec{Filter: `body.none.name == "y"`}, "", ""},
		{"no answer", spec{Filter: `body.name`}, "", "filter: yields string, not true or false"},
		{"key", spec{Dedupe: &v1alpha1.ReceiverDedupe{Key: `body.name + string(body.id)`}}, "x12345678901", ""},
		{"no key", spec{Dedupe: &v1alpha1.ReceiverDedupe{Key: `body.none`}}, "", "dedupe.key: waits for body.none"},
		{"in time", spec{Replay: replay("body.at", "")}, "delivery-1", ""},
		{"in seconds", spec{Replay: replay("body.unix", "10m")}, "delivery-1", ""},
		{"too old", spec{Replay: replay("body.at", "3m")}, "", "4m0s ago, outside of the window of 3m0s"},
		{"from the future", spec{Replay: replay("body.later", "")}, "", "outside of the window"},
		{"no time", spec{Replay: replay("body.name", "")}, "", "isn't a time"},
		{"missing time", spec{Replay: replay("body.none", "")}, "", "replay.timestamp: waits for body.none"},
	} {
		o, err := decide(&test.spec, m, now)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want %s", test.name, err, test.err)
			}
		case err != nil:
			t.Errorf("%s: %v", test.name, err)
		case o.skip != (test.key == ""), !o.skip && o.key != test.key:
			t.Errorf("%s: skip %t, key %q", test.name, o.skip, o.key)
		}
	}
	m.ID = ""
	a, errA := decide(&spec{}, m, now)
	b, errB := decide(&spec{}, m, now)
	if errA != nil || errB != nil || a.key == b.key {
		t.Errorf("two messages without an id have the keys %q and %q", a.key, b.key)
	}
}

// TestDecideSize checks that a message that a queue lets be larger than others is refused, and is not
// decoded.
func TestDecideSize(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]string{source.MaxBody: "", source.MaxBody + 1: "the body has 1048577 bytes, more than 1048576"} {
		m := source.New("id", nil, []byte(strings.Repeat("1", size)))
		if (m.Body == nil) != (want != "") {
			t.Errorf("%d bytes: the body is decoded: %t", size, m.Body != nil)
		}
		var got string
		if _, err := decide(&v1alpha1.ReceiverSpec{}, m, time.Now()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%d bytes: error %q, want %q", size, got, want)
		}
	}
}
