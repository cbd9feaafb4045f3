package hostile

import (
	"testing"

	"github.com/pequod-io/pequod/api/graph"
)

// All graphs but two are within the limits of a graph. Otherwise they are refused before
// they can do harm, and show nothing.
func TestGraphsAreAccepted(t *testing.T) {
	for _, rg := range Graphs("hostile") {
		problems := graph.Check(rg)
		if refused := rg.Name == "too-many-0" || rg.Name == "itself-0"; (len(problems) > 0) != refused {
			t.Errorf("%s: %v", rg.Name, problems)
		}
	}
}
