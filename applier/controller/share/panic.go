package share

import (
	"fmt"
	"runtime/debug"

	"github.com/go-logr/logr"

	"github.com/pequod-io/pequod/inventory"
)

// panicError returns a recovered panic as an error, and logs the stack. It is
// called by the deferred function that recovered.
func panicError(log logr.Logger, p any, graph inventory.Owner) error {
	err := fmt.Errorf("panic: %v", p)
	log.Error(err, "recovered a panic", "namespace", graph.Namespace, "name", graph.Name, "stack", string(debug.Stack()))
	return err
}
