// Package webhook receives the requests of webhooks, and has their messages delivered.
//
// All replicas serve webhooks: what a message does happens once, whichever replica gets it. A
// request is answered with 200 only after its effects are stored. If the API server is away, the
// answer is 503, and the sender has to repeat the request.
//
// [Handler] is the entry point. verify.go has the path and the signatures, tokens.go reads tokens,
// and limits.go keeps one Receiver from starving others.
package webhook
