package forecast

import (
	"slices"
	"strings"

	"github.com/pequod-io/pequod/applier/objectdiff"
	"github.com/pequod-io/pequod/internal/problem"
)

// portKept reports whether the port that a member of spec.ports had is that of another
// member now: only its name changes.
func (s *subject) portKept() bool {
	if s.leaf.after != nil {
		return false
	}
	old := list(value(s.diff.Old(), "spec.ports"))
	// The protocol of the removed member is unknown here, so every member with the port
	// counts. All of them must remain.
	return !slices.ContainsFunc(old, func(p map[string]any) bool {
		return p["port"] == s.leaf.before && !slices.ContainsFunc(list(value(s.diff.New(), "spec.ports")), func(q map[string]any) bool {
			return q["port"] == p["port"] && protocol(q) == protocol(p)
		})
	})
}

// protocol returns the protocol of a port.
func protocol(port map[string]any) string {
	if p, _ := port["protocol"].(string); p != "" {
		return strings.ToUpper(p)
	}
	return "TCP"
}

// losesEndpoints reports whether a changed selector of a Service leaves it without endpoints.
// Package objectdiff compares it with the labels of Pods, and warns.
func (s *subject) losesEndpoints() bool {
	return s.warnedOfSelector("spec.selector")
}

// takesEndpoints reports whether a workload leaves a Service without endpoints: the labels of
// its Pods change, or it is removed.
func (s *subject) takesEndpoints() bool {
	return templatePath(s.diff.Key) != nil && !s.mismatched() && s.warnedOfSelector("spec.template.metadata.labels", "")
}

// warnedOfSelector reports whether there is a warning about a selector at one of the paths.
func (s *subject) warnedOfSelector(paths ...string) bool {
	return slices.ContainsFunc(s.diff.Warnings, func(w problem.Problem) bool {
		return w.Rule == objectdiff.RuleSelector && slices.Contains(paths, w.Path)
	})
}
