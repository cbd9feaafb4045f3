package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pequod-io/pequod/cli/command"
	"github.com/pequod-io/pequod/cli/files"
	"github.com/pequod-io/pequod/internal/source"
	"github.com/pequod-io/pequod/review"
)

// summary is the part of a report in JSON that a pipeline acts on. The file may come from
// strangers: only counts, the names of known conditions and the escaped verdict are used.
type summary struct {
	Version    string
	Verdict    string
	Conditions map[review.Condition]int
	Unknown    []json.RawMessage
	Inputs     []json.RawMessage
	Groups     []json.RawMessage
	Dangers    []json.RawMessage
}

// readSummary reads a file that review wrote.
func readSummary(ctx context.Context, file string) (summary, error) {
	var s summary
	data, err := files.ReadFile(ctx, file)
	if err != nil {
		return s, command.FileError(err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	if s.Version != "v1" {
		return s, fmt.Errorf("%s: version %q: want a report of version v1", file, s.Version)
	}
	return s, nil
}

// changed reports whether there is something to say. Committed output can be stale although
// nothing else changes.
func (s summary) changed() bool {
	return len(s.Unknown)+len(s.Inputs)+len(s.Groups)+len(s.Dangers) > 0
}

// met returns the conditions of --fail-on that are met.
func (s summary) met() []review.Condition {
	var met []review.Condition
	for _, c := range review.Conditions() {
		if s.Conditions[c] > 0 {
			met = append(met, c)
		}
	}
	return met
}

// outputs returns the lines for GITHUB_OUTPUT. An escaped value has no line end, so it
// can't add an output.
func (s summary) outputs() string {
	var conditions []string
	for _, c := range s.met() {
		conditions = append(conditions, string(c))
	}
	return fmt.Sprintf("changed=%t\nverdict=%s\nconditions=%s\n", s.changed(), source.Escape(s.Verdict, ""), strings.Join(conditions, ","))
}
