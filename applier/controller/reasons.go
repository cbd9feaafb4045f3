package controller

import "github.com/pequod-io/pequod/applier/engine"

// The reasons of graphs that can't be executed before somebody changes something.
// Those of nodes are the engine's.
const (
	reasonInvalid        = engine.ReasonInvalid
	reasonNoAccount      = "NoServiceAccount"
	reasonAccountMissing = "ServiceAccountMissing"
	reasonCrossNamespace = "CrossNamespace"
	reasonTooLarge       = "TooLarge"
)
