// Package monitor is the controller of Monitors. It polls targets by package probe, evaluates
// the readings by package verdict, writes the status, and executes the reactions of rules that have
// fired by package reaction.
//
// Polls and reactions run in goroutines of their own, one of each for a Monitor at a time, so a
// server that hangs keeps no worker. A firing is stored in the status before its
// reactions begin, and removed when they have ended: after a crash they begin again.
//
// [Setup] is the entry point. reconcile.go has the loop, work.go the goroutines, and report.go the
// Events.
package monitor
