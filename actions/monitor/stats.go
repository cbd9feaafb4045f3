package monitor

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// tally counts what has happened to a Monitor since the program has started.
type tally struct {
	// Polls are those of targets, and Failures those that failed.
	Polls    int64 `json:"polls"`
	Failures int64 `json:"failures"`
	// Reactions are firings whose reactions have ended, and FailedReactions those that failed.
	Reactions       int64 `json:"reactions"`
	FailedReactions int64 `json:"failedReactions"`
	// LastPollAt is the end of the last poll, and LastPollSeconds how long it took.
	LastPollAt      time.Time `json:"lastPollAt,omitzero"`
	LastPollSeconds float64   `json:"lastPollSeconds"`
}

// monitorStats are the statistics of one Monitor.
type monitorStats struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	NextPoll  time.Time `json:"nextPollAt,omitzero"`
	Polling   bool      `json:"polling"`
	Reacting  bool      `json:"reacting"`
	tally
}

// stats are the statistics of all Monitors.
type stats struct {
	Monitors int            `json:"monitors"`
	Polling  int            `json:"polling"`
	Reacting int            `json:"reacting"`
	Items    []monitorStats `json:"items"`
}

// Stats answers GET requests with statistics of all Monitors as JSON. They have names, and nothing
// that Monitors have read.
func (c *Controller) Stats() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			http.Error(w, "only GET is allowed", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.r.stats()) // the client may be gone
	})
}

// stats returns the statistics of all Monitors, by namespace and name.
func (m *memory) stats() stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := stats{Monitors: len(m.of), Items: []monitorStats{}}
	for name, k := range m.of {
		s := monitorStats{Namespace: name.Namespace, Name: name.Name, NextPoll: k.due, Polling: k.cancel != nil, Reacting: k.reacting, tally: k.tally}
		if s.Polling {
			all.Polling++
		}
		if s.Reacting {
			all.Reacting++
		}
		all.Items = append(all.Items, s)
	}
	slices.SortFunc(all.Items, func(a, b monitorStats) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
