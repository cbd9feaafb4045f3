package graph

import (
	"crypto/sha256"
	"fmt"
)

// Hash is the renderHash of a graph, given as the JSON of its
// [github.com/pequod-io/pequod/api/v1alpha1.Graph].
func Hash(json []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(json)) }
