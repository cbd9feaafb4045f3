package executor

import (
	"errors"

	"github.com/pequod-io/pequod/api/action"
	"github.com/pequod-io/pequod/api/v1alpha1"
)

// Static returns the problems of [action.Request], which rendering refuses, too, as errors of a check.
func Static(request v1alpha1.ActionExecutor) []error {
	var found []error
	for _, p := range action.Request(request) {
		found = append(found, errors.New(p.Path+": "+p.Message))
	}
	return found
}
