package history

import (
	"time"

	eventsv1 "k8s.io/api/events/v1"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Object is the object that a row is about.
type Object struct {
	UID, Namespace, Name string
}

// Revision is a finished execution of a graph. The key is UID, Generation and Attempt.
type Revision struct {
	Object
	Generation, Attempt       int64
	Hash, Reason, Result      string
	Message                   string
	Nodes                     int
	Created, Updated, Deleted int
	Duration                  time.Duration
	FinishedAt                time.Time
}

// Run is a finished run of an Action. The key is UID, Generation and Attempt.
type Run struct {
	Object
	Generation, Attempt   int64
	Reason, Result        string
	Message, URL          string
	StartedAt, FinishedAt time.Time
}

// Event is an Event about an object of Pequod. The key is UID, that of the Event.
type Event struct {
	UID                  string
	Kind                 string // of the object
	Object               Object
	Type, Reason, Action string
	Message              string
	Count                int
	FirstAt, LastAt      time.Time
}

// Revisions returns the rows of a graph's history, oldest first.
func Revisions(rg *v1alpha1.ResourceGraph) []Revision {
	rows := make([]Revision, len(rg.Status.History))
	for i, r := range rg.Status.History {
		took, err := time.ParseDuration(r.Duration)
		if err != nil {
			took = 0 // it was written by another program; the rest is worth keeping
		}
		rows[len(rows)-1-i] = Revision{
			Object{string(rg.UID), rg.Namespace, rg.Name}, r.Revision, r.Attempt, r.Hash, string(r.Reason), string(r.Result),
			r.Message, r.Nodes, r.Created, r.Updated, r.Deleted, took, r.FinishedAt.UTC(),
		}
	}
	return rows
}

// Runs returns the rows of an Action's history, oldest first.
func Runs(a *v1alpha1.Action) []Run {
	rows := make([]Run, len(a.Status.History))
	for i, r := range a.Status.History {
		rows[len(rows)-1-i] = Run{
			Object{string(a.UID), a.Namespace, a.Name}, r.Generation, r.Attempt, string(r.Reason), string(r.Result),
			r.Message, r.URL, r.StartedAt.UTC(), r.FinishedAt.UTC(),
		}
	}
	return rows
}

// EventOf returns the row of an Event. A series of equal Events is one row, whose count grows.
func EventOf(e *eventsv1.Event) Event {
	row := Event{
		UID: string(e.UID), Kind: e.Regarding.Kind, Object: Object{string(e.Regarding.UID), e.Regarding.Namespace, e.Regarding.Name},
		Type: e.Type, Reason: e.Reason, Action: e.Action, Message: e.Note, Count: 1, FirstAt: e.EventTime.UTC(), LastAt: e.EventTime.UTC(),
	}
	if e.EventTime.IsZero() { // it was written by the old API of Events
		row.FirstAt, row.LastAt, row.Count = e.DeprecatedFirstTimestamp.UTC(), e.DeprecatedLastTimestamp.UTC(), max(int(e.DeprecatedCount), 1)
	}
	if e.Series != nil {
		row.Count, row.LastAt = int(e.Series.Count), e.Series.LastObservedTime.UTC()
	}
	return row
}

// Mark is the place of a row among those of an object.
type Mark struct{ Generation, Attempt int64 }

// Mark returns the place of the row.
func (r Revision) Mark() Mark { return Mark{r.Generation, r.Attempt} }

// Mark returns the place of the row.
func (r Run) Mark() Mark { return Mark{r.Generation, r.Attempt} }

// Mark returns the place of the row among those of a series of equal Events, of which only the last
// one is stored.
func (e Event) Mark() Mark { return Mark{Attempt: int64(e.Count)} }

// After reports whether m comes after another mark.
func (m Mark) After(other Mark) bool {
	return m.Generation > other.Generation || m.Generation == other.Generation && m.Attempt > other.Attempt
}

// MissedRevisions returns how many revisions of a graph are certainly missing between the last
// stored one and the rows of its history, oldest first: attempts of a generation have no gaps.
func MissedRevisions(last Mark, rows []Revision) int {
	missed := 0
	for _, r := range rows {
		next := r.Mark()
		if !next.After(last) || next.Attempt == 0 {
			continue
		}
		before := int64(0)
		if next.Generation == last.Generation {
			before = last.Attempt
		}
		missed += int(next.Attempt - before - 1)
		last = next
	}
	return missed
}

// MissedRuns is [MissedRevisions] for an Action, whose attempts have no gaps at all.
func MissedRuns(last Mark, rows []Run) int {
	missed := 0
	for _, r := range rows {
		if r.Attempt > last.Attempt {
			missed += int(r.Attempt - last.Attempt - 1)
			last.Attempt = r.Attempt
		}
	}
	return missed
}

// RejectedError is the error of rows that a database rejects although it is there: others can be
// stored.
type RejectedError struct{ Err error }

// Error implements error.
func (e *RejectedError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RejectedError) Unwrap() error { return e.Err }
