package review

import (
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/source"
)

// RuleStale is a danger about committed output that isn't what the files render.
const RuleStale = "stale"

// StaleOutput is committed output of the head that isn't what its files render. A cluster
// that gets the committed output then gets something else than the report shows.
type StaleOutput struct {
	// Dir is the directory.
	Dir string
	// Instances are those whose graphs differ, are missing, or should be gone. It is sorted.
	Instances []string
	// Error is the reason for which the output can't be read, or "".
	Error string
}

// maxStale is the largest number of instances in a message.
const maxStale = 5

// message returns the danger in words.
func (s *StaleOutput) message() string {
	if s.Error != "" {
		return "can't be read: " + s.Error
	}
	shown := s.Instances[:min(maxStale, len(s.Instances))]
	text := "is stale: it isn't what the files render for " + source.Count(len(s.Instances), "instance") + ": " + strings.Join(shown, ", ")
	if n := len(s.Instances) - len(shown); n > 0 {
		text += " and " + source.Count(n, "other")
	}
	return text + "; run pequod render again, and commit its output"
}

// SetStale records that the committed output of the head is stale.
func (r *Report) SetStale(s *StaleOutput) {
	r.Stale, r.Dangers = s, nil
	r.findDangers()
}

// danger returns the danger, which is about no instance.
func (s *StaleOutput) danger() Danger {
	return Danger{Rule: RuleStale, Message: s.message(), Object: objectdiff.Key{Kind: "committed output", Name: s.Dir}, Instance: -1}
}
