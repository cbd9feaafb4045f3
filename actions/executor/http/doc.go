// Package http is the executor that sends a request to an HTTP API, and polls until the work
// that the request began has ended.
//
// Each request that begins a run has the header Idempotency-Key with the key of the run, so a
// request whose answer was lost is sent again. For servers that don't honour the header,
// find looks for the run first; with repeat: Never, such a run is lost.
package http
