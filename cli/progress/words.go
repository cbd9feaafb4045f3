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

// subject names a node and its object, or an object that left its graph.
func subject(s engine.Status) string {
	if s.ID == "" {
		return s.Key.String()
	}
	return s.ID + " (" + s.Key.String() + ")"
}

const driftText = "but changed by others since it was applied"

// state gives the word for a state and what there is to say about it.
func state(s engine.Status) (word, detail string) {
	word, detail = strings.ToLower(string(cmp.Or(s.Phase, v1alpha1.NodePending))), source.Escape(s.Message, "")
	switch s.Phase {
	case v1alpha1.NodeFailed:
		if !s.NextAttempt.IsZero() {
			detail += "; will be tried again"
		}
	case v1alpha1.NodeReady:
		detail = string(s.Op)
		if s.Drifted {
			detail = strings.TrimPrefix(detail+", "+driftText, ", ")
		}
	case v1alpha1.NodeDeleting:
		detail = strings.TrimPrefix(strings.TrimPrefix(detail, "is being deleted"), ", ")
	case v1alpha1.NodeGone:
		word = string(cmp.Or(s.Op, engine.Deleted))
	}
	return word, detail
}

// stateText is a state in one phrase.
func stateText(s engine.Status) string {
	word, detail := state(s)
	if detail == "" {
		return word
	}
	return word + ": " + detail
}

// opText is what was done to an object, with the fields that were taken from
// others; "" where nothing was.
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

// elapsed writes a duration as people read it: 0.4s, 12s, 3m5s.
func elapsed(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
