package style

import "github.com/pequod-io/pequod/api/v1alpha1"

// PhaseStyle has the symbol and the colors of a phase of a node.
type PhaseStyle struct {
	// Symbol tells the phases apart that matter, for terminals without color.
	Symbol string
	Color  Style
	// Fill is the color of a box, as Graphviz names it.
	Fill string
}

// Phase returns the style of a phase. The empty phase and unknown ones are pending.
func Phase(phase v1alpha1.NodePhase) PhaseStyle {
	switch phase {
	case v1alpha1.NodeReady:
		return PhaseStyle{"✓", Green, "palegreen"}
	case v1alpha1.NodeFailed, v1alpha1.NodeDegraded:
		return PhaseStyle{"✗", Red, "salmon"}
	case v1alpha1.NodeApplying, v1alpha1.NodeProgressing:
		return PhaseStyle{"▸", Yellow, "khaki"}
	case v1alpha1.NodeWaiting:
		return PhaseStyle{"?", Yellow, "khaki"}
	case v1alpha1.NodeDeleting:
		return PhaseStyle{"−", Yellow, "khaki"}
	case v1alpha1.NodeGone:
		return PhaseStyle{"−", Dim, "lightgrey"}
	case v1alpha1.NodeBlocked:
		return PhaseStyle{"·", Dim, "lightgrey"}
	case v1alpha1.NodePending:
	}
	return PhaseStyle{"·", Dim, "khaki"}
}
