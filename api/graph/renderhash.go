package graph

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/pequod-io/pequod/api/v1alpha1"
)

// RenderHash returns the renderHash of a graph: "sha256:" and the hex digest of
// its JSON. It identifies a revision of the graph. The applier computes it
// rather than trusting spec.renderHash, because a graph may have been edited
// after it was rendered.
func RenderHash(g v1alpha1.Graph) (string, error) {
	data, err := json.Marshal(g)
	if err != nil {
		return "", err
	}
	return HashJSON(data), nil
}

// HashJSON is RenderHash for a graph that is already encoded as JSON.
func HashJSON(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }
