package progress

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/pequod-io/pequod/api/v1alpha1"
	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/source"
)

// subject names a node and its object, or only the object if it left its graph.
func subject(s engine.Status) string {
	if s.ID == "" {
		return s.Key.String()
	}
	return s.ID + " (" + s.Key.String() + ")"
}

// driftText follows the state of an object that drifted, if the graph only
// reports drift.
const driftText = "but changed by others since it was applied"

// state returns the word for the phase of an object and the details, which may be
// empty. Of a failed object, the detail is the error; of a ready one, the
// operation that made it ready; of others, what they wait for.
func state(s engine.Status) (word, detail string) {
	word, detail = strings.ToLower(string(cmp.Or(s.Phase, v1alpha1.NodePending))), source.Escape(s.Message, "")
	switch s.Phase {
	case v1alpha1.NodeFailed:
		if !s.NextAttempt.IsZero() {
			detail += "; retrying"
		}
	case v1alpha1.NodeReady:
		detail = string(s.Op)
		if s.Drifted {
			detail = strings.TrimPrefix(detail+", "+driftText, ", ")
		}
	case v1alpha1.NodeDeleting:
		// The word is "deleting" already.
		detail = strings.TrimPrefix(strings.TrimPrefix(detail, "is being deleted"), ", ")
	case v1alpha1.NodeGone:
		word = string(cmp.Or(s.Op, engine.Deleted))
	}
	return word, detail
}

// stateText returns the word and the details of [state] as one phrase. The text about
// drift directly follows the word if there is no operation, as in a watch.
func stateText(s engine.Status) string {
	word, detail := state(s)
	switch detail {
	case "":
		return word
	case driftText:
		return word + ", " + detail
	}
	return word + ": " + detail
}

// opText returns the operation of a run on an object, with the fields that the
// run took from other field managers. It returns "" for operations that change
// nothing, and for deletions, which the phase reports.
func opText(s engine.Status) string {
	switch s.Op {
	case "", engine.Unchanged, engine.Observed, engine.Deleted, engine.Released:
		return ""
	}
	text := string(s.Op)
	for _, t := range s.Taken {
		text += fmt.Sprintf(", took %s from %s", source.Escape(t.Field, ""), source.Escape(t.Manager, ""))
	}
	return text
}

// elapsed formats a duration for people: 0.4s, 12s, 3m5s.
func elapsed(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// oneLine returns s on one line and safe to print. Newlines become spaces, as
// errors of several requests are joined by them.
func oneLine(s string) string { return source.Escape(strings.ReplaceAll(s, "\n", " "), "") }
