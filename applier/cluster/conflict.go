package cluster

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier/engine"
	"github.com/pequod-io/pequod/internal/lazyregexp"
)

// conflictCause matches the message of one cause of a field manager conflict. The
// API server (structured-merge-diff's field manager) writes it in these forms:
//
//	conflict with "kubectl-edit" using apps/v1
//	conflict with "kube-controller-manager" with subresource "scale" using apps/v1
var conflictCause = lazyregexp.New(`^conflict with "([^"]*)"(?: with subresource "([^"]*)")?`)

// conflicts returns the fields that a conflict is about, with their managers. If
// the message of a cause has an unknown form, it stands for the manager.
func conflicts(s metav1.Status) []engine.Conflict {
	var found []engine.Conflict
	if s.Details == nil {
		return nil
	}
	for _, c := range s.Details.Causes {
		if c.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		conflict := engine.Conflict{Field: strings.TrimPrefix(c.Field, "."), Manager: c.Message}
		if m := conflictCause().FindStringSubmatch(c.Message); m != nil {
			conflict.Manager, conflict.Subresource = m[1], m[2]
		}
		found = append(found, conflict)
	}
	return found
}

// conflictText describes conflicts in one line. It names at most four fields.
func conflictText(found []engine.Conflict) string {
	var parts []string
	for i, c := range found {
		if i == 3 && len(found) > 4 {
			parts = append(parts, "and others")
			break
		}
		parts = append(parts, c.Field+" is owned by "+c.Manager)
	}
	return strings.Join(parts, ", ")
}

// isAutoscaled reports whether the conflict is about replicas that an autoscaler
// manages. Autoscalers write to the scale subresource, and appliers don't; so
// does kubectl scale, which is no autoscaler.
func isAutoscaled(c engine.Conflict) bool {
	return c.Field == "spec.replicas" && c.Subresource == "scale" && !strings.HasPrefix(c.Manager, "kubectl")
}
