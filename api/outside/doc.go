// Package outside checks Actions, Monitors and Receivers, which pequod-actions executes, wherever
// they appear: what it would refuse is refused before anything runs.
//
// [Check] is the entry point. The packages action, monitor and receiver have the checks of each kind,
// and pequod-actions uses them, too. Non-goals: fields, types and bounds are those of the CRDs,
// which package render/kinds checks; flags of pequod-actions, such as --receiver-kinds.
package outside
