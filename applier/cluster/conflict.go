package cluster

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pequod-io/pequod/applier/engine"
)

// conflictCause reads the message of a cause of a conflict, as the API server
// (structured-merge-diff's field manager) writes it:
//
//	conflict with "kubectl-edit" using apps/v1
//	conflict with "kube-controller-manager" with subresource "scale" using apps/v1
var conflictCause = regexp.MustCompile(`^conflict with "([^"]*)"(?: with subresource "([^"]*)")?`)

// conflicts lists the fields of a conflict with their managers.
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
		if m := conflictCause.FindStringSubmatch(c.Message); m != nil {
			conflict.Manager, conflict.Subresource = m[1], m[2]
		}
		found = append(found, conflict)
	}
	return found
}

func conflictText(found []engine.Conflict) string {
	var parts []string
	for i, c := range found {
		if i == 3 && len(found) > 4 {
			parts = append(parts, "and others")
			break
		}
		parts = append(parts, c.Field+" is held by "+c.Manager)
	}
	return strings.Join(parts, ", ")
}

// yields says whether a field belongs to an autoscaler: it scales by the
// subresource, as no applier does; people who do so by kubectl are not one.
func yields(c engine.Conflict) bool {
	return c.Field == "spec.replicas" && c.Subresource == "scale" && !strings.HasPrefix(c.Manager, "kubectl")
}
