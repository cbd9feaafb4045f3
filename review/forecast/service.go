package forecast

import (
	"slices"
	"strings"
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
