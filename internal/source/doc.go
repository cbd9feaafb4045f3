// Package source holds what Pequod does with text that others wrote: hints for
// misspelt names, and forms of a string that are safe to print.
//
//   - [Hint] and [Nearest] suggest a known name for a misspelt one.
//   - [OneLine] shortens messages of controllers, webhooks and kubelets to one
//     line for status, Events and logs.
//   - [Escape] makes text from files and modules safe for a terminal without
//     losing any of it.
//
// The package knows neither CUE nor Kubernetes, so every other package may
// import it.
package source
